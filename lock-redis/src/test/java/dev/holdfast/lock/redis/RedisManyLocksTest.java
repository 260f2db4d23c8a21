package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.house.BystanderLocks;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** One client that holds very many locks. */
@House("scale:held")
@Tag(House.SLOW)
final class RedisManyLocksTest {
    private static final int FEW = 5_000;
    private static final int MANY = 20_000;
    private static final int AT_A_TIME = 1_000;
    private static final Duration LEASE = Duration.ofSeconds(15);

    /** Twice the cost of a lock is what a machine that is busy at the wrong time makes of a constant one. */
    private static final double MAX_GROWTH = 3;

    @Test
    @DisplayName("Twenty thousand held locks are renewed, and the last ones cost no more than the first")
    void locks_twentyThousand_areRenewed_andCostTheSameEach() throws Exception {
        LockClientOptions options = LockClientOptions.builder()
                .lockOptions(LockOptions.builder().lease(LEASE).build())
                .build();
        try (RedisServer server = RedisServer.start();
                LockClient client = LockClient.connect("redis://" + server.host() + ":" + server.port(), options);
                BystanderLocks bystanders = BystanderLocks.hold(client, 20, LEASE)) {
            List<Lease> held = new ArrayList<>();
            double few = microsEach(() -> acquire(client, held, FEW), FEW);
            acquire(client, held, MANY - 2 * FEW);
            double many = microsEach(() -> acquire(client, held, FEW), FEW);
            long endNanos = System.nanoTime() + LEASE.toNanos();
            while (endNanos - System.nanoTime() > 0) { // renewals are due three times
                TimeUnit.MILLISECONDS.sleep(50);
            }
            assertThat(held).hasSize(MANY).allMatch(Lease::isValid);
            double release = microsEach(() -> held.subList(0, FEW).forEach(Lease::close), FEW);
            double last = microsEach(() -> held.subList(MANY - FEW, MANY).forEach(Lease::close), FEW);
            System.out.printf(
                    "acquire: %.0f µs each of the first, %.0f µs of the last; release: %.0f and %.0f µs; oldest renewal %s%n",
                    few, many, release, last, bystanders.oldestRenewal());
            assertThat(many).as("µs to acquire with 15,000 held").isLessThan(MAX_GROWTH * few);
            assertThat(release).as("µs to release with 20,000 held").isLessThan(MAX_GROWTH * last);
        }
    }

    private static void acquire(LockClient client, List<Lease> held, int count) throws Exception {
        for (int done = 0; done < count; done += AT_A_TIME) {
            List<CompletableFuture<Lease>> some = new ArrayList<>();
            for (int i = 0; i < AT_A_TIME; i++) {
                some.add(client.lock("order-" + (held.size() + i)).acquireAsync(Duration.ofMinutes(1)));
            }
            for (CompletableFuture<Lease> each : some) {
                held.add(each.get(1, TimeUnit.MINUTES));
            }
        }
    }

    private static double microsEach(Work work, int count) throws Exception {
        long startNanos = System.nanoTime();
        work.run();
        return (System.nanoTime() - startNanos) / 1e3 / count;
    }

    private interface Work {
        void run() throws Exception;
    }
}
