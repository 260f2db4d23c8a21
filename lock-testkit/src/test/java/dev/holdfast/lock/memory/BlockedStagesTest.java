package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.house.House;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Stages of users that block, although they should not. */
@House("process:listeners")
class BlockedStagesTest {
    private static final int BLOCKED = 20;

    private final MemoryStore store = MemoryStore.create();

    @Test
    @DisplayName(
            "Neither blocked stages of acquireAsync nor of lost() delay the report of a loss, or another acquisition")
    void stagesBlock_lossAndAcquisition_areReported() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        try (LockClient client = store.newClient(LockClientOptions.builder()
                        .requestTimeout(Duration.ofMillis(300))
                        .lockOptions(LockOptions.builder()
                                .lease(Duration.ofSeconds(1))
                                .build())
                        .build());
                LockClient other = store.newClient(LockClientOptions.defaults())) {
            List<Lease> blocking = new ArrayList<>();
            for (int i = 0; i < BLOCKED; i++) {
                try (Lease before =
                        other.lock("async" + i).acquire()) { // a stage of a future that is complete runs here
                    client.lock("async" + i)
                            .acquireAsync(Duration.ofSeconds(10))
                            .thenAccept(lease -> block(end));
                }
                Lease lease = client.lock("lost" + i).acquire();
                lease.lost().thenAccept(reason -> block(end));
                blocking.add(lease);
            }
            blocking.forEach(lease -> store.expire(lease.name())); // their next renewals find it
            Lease last = client.lock("last").acquire();
            CountDownLatch reported = new CountDownLatch(1);
            last.lost().thenAccept(reason -> reported.countDown());
            store.expire("last");
            CountDownLatch acquired = new CountDownLatch(1);
            client.lock("another").acquireAsync(Duration.ofSeconds(10)).thenAccept(lease -> acquired.countDown());

            assertThat(reported.await(10, TimeUnit.SECONDS)).as("the loss").isTrue();
            assertThat(acquired.await(10, TimeUnit.SECONDS))
                    .as("the acquisition")
                    .isTrue();
        } finally {
            end.countDown();
        }
    }

    private static void block(CountDownLatch end) {
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
