package dev.holdfast.lock.memcached;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holder;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * The clock of memcached is set once a second, to whole seconds. If each tick is a little late, one tick finally comes
 * after a whole second, and the clock advances by two. Items that were stored just before have then aged by two
 * seconds.
 */
@House("time:clocks")
final class MemcachedClockTest {
    private static final long LEASE_MILLIS = 1_000;
    private static final long LATE_MILLIS = 150;
    private static final int JUMPS = 2;
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private record Held(String name, long sentNanos) {}

    @Test
    void ticksThatComeLate_endNoLeaseEarly() throws Exception {
        try (MemcachedServer server = MemcachedServer.start();
                LockBackend backend = MemcachedLocks.backend(
                        MemcachedUri.parse("memcached://" + server.host() + ":" + server.port()),
                        Duration.ofSeconds(20))) {
            Deque<Held> held = new ArrayDeque<>();
            int granted = 0;
            int jumps = 0;
            long clock = server.stat("time");
            long tickNanos = System.nanoTime();
            long startNanos = tickNanos;
            while (jumps < JUMPS || !held.isEmpty()) {
                assertThat(System.nanoTime() - startNanos)
                        .as("time for two jumps")
                        .isLessThan(PATIENCE.toNanos());
                long now = server.stat("time");
                if (now != clock) {
                    jumps += now - clock > 1 ? 1 : 0;
                    clock = now;
                    tickNanos = System.nanoTime();
                }
                if (jumps < JUMPS) {
                    Held next = new Held("clock-" + granted++, System.nanoTime());
                    BackendDriver.of(backend, next.name(), LEASE_MILLIS).acquireQueued();
                    held.add(next);
                    stopOverTheNextTick(server, tickNanos);
                }
                while (!held.isEmpty() && !isValid(held.peek(), System.nanoTime())) {
                    held.remove();
                }
                for (Held each : held) {
                    boolean there = holder(backend, each.name()).isPresent();
                    assertThat(there || !isValid(each, System.nanoTime()))
                            .as("'%s' is held for its lease", each.name())
                            .isTrue();
                }
            }
        }
    }

    private static boolean isValid(Held held, long nanos) {
        return nanos - held.sentNanos() < TimeUnit.MILLISECONDS.toNanos(LEASE_MILLIS);
    }

    /** If it is about to come: the clock is set when the server goes on. */
    private static void stopOverTheNextTick(MemcachedServer server, long tickNanos) throws InterruptedException {
        long sinceMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - tickNanos);
        if (sinceMillis < 900 || sinceMillis > 990) {
            return;
        }
        server.process().pause();
        try {
            TimeUnit.MILLISECONDS.sleep(990 - sinceMillis + LATE_MILLIS);
        } finally {
            server.process().resume();
        }
    }
}
