package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.house.House;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@House("scale:readers")
class ManyReadersTest {
    private static final int READERS = 100_000;

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    @DisplayName("A hundred thousand readers of one grant cost a constant time each, and no other lock")
    void readers_ofOneGrant_comeAndGoInConstantTime() throws Exception {
        try (LockClient client = MemoryStore.create().newClient(LockClientOptions.defaults());
                Lease kept = client.lock(
                                "kept",
                                LockOptions.builder()
                                        .lease(Duration.ofSeconds(4))
                                        .build())
                        .acquire()) {
            DistributedReadWriteLock lock = client.readWriteLock("n");
            List<CompletableFuture<Lease>> readers = new ArrayList<>(READERS);
            try (Lease writer = lock.writeLock().acquire()) {
                for (int i = 0; i < READERS; i++) {
                    readers.add(lock.readLock().acquireAsync(Duration.ofSeconds(50)));
                }
            }
            for (int i = READERS - 1; i >= 0; i--) {
                readers.get(i).get(50, TimeUnit.SECONDS).close();
            }
            assertThat(kept.isValid()).isTrue();
            assertThat(client.held())
                    .singleElement()
                    .satisfies(usage -> assertThat(usage.name()).isEqualTo("kept"));
        }
    }
}
