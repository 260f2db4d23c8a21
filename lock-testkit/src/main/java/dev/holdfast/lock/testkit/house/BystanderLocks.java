package dev.holdfast.lock.testkit.house;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.testkit.support.PauseMeter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Locks of a client with which nothing is done while something happens to its other locks, callers, listeners or log lines (rule S6).
 * {@link #close} fails if one of them was lost, and adds their number and the greatest age of a renewal to the report of the house.
 */
public final class BystanderLocks implements AutoCloseable {
    private static final AtomicInteger NUMBERS = new AtomicInteger();
    private static final long LOOK_MILLIS = 5;

    private final Duration lease;
    private final List<Lease> held = new ArrayList<>();
    private final Map<String, LossReason> lost = new ConcurrentHashMap<>();
    private final Thread watch = new Thread(this::watch, "watch-of-bystanders");
    private final PauseMeter pauses;
    private volatile Duration oldest = Duration.ZERO;
    private volatile boolean over;

    private BystanderLocks(LockClient client, int count, Duration lease) throws InterruptedException {
        this.lease = lease;
        LockOptions options = LockOptions.builder().lease(lease).build();
        String prefix = "bystander-" + ProcessHandle.current().pid() + "-" + NUMBERS.incrementAndGet() + "-";
        for (int i = 0; i < count; i++) {
            Lease each = client.lock(prefix + i, options).acquire();
            each.lost().thenAccept(reason -> lost.put(each.name(), reason));
            held.add(each);
        }
        pauses = PauseMeter.start(lease);
    }

    /**
     * Acquires locks under names of their own.
     *
     * @param client the client, which must not be closed before them
     * @param count how many
     * @param lease their lease, which the client renews
     * @return the locks, held
     * @throws InterruptedException if the thread is interrupted
     */
    public static BystanderLocks hold(LockClient client, int count, Duration lease) throws InterruptedException {
        BystanderLocks bystanders = new BystanderLocks(client, count, lease);
        bystanders.watch.setDaemon(true);
        bystanders.watch.start();
        return bystanders;
    }

    private void watch() {
        while (!over) {
            look();
            try {
                Thread.sleep(LOOK_MILLIS);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** A lease that has ended has no time left, so the greatest age is the lease itself. */
    private void look() {
        for (Lease each : held) {
            Duration age = lease.minus(each.remaining());
            oldest = age.compareTo(oldest) > 0 ? age : oldest;
        }
    }

    /**
     * Returns the longest time so far for which one of them went without a confirmed renewal.
     *
     * @return at most the lease
     */
    public Duration oldestRenewal() {
        return oldest;
    }

    /** Fails if one was lost. */
    public void assertHeld() {
        long pauseMillis = pauses.longest().toMillis();
        assertThat(lost)
                .as("bystanders that were lost; the machine paused for up to %d ms within a lease", pauseMillis)
                .isEmpty();
        assertThat(held)
                .as("bystanders; the machine paused for up to %d ms within a lease", pauseMillis)
                .allMatch(Lease::isValid);
    }

    /** Ends the watch, writes the report, and releases the locks; fails if one was lost. */
    @Override
    public void close() throws InterruptedException {
        over = true;
        watch.join();
        long ended = held.stream()
                .filter(each -> lost.containsKey(each.name()) || !each.isValid())
                .count();
        HouseReport.add(held.size(), (int) ended, oldest, lease);
        try {
            assertHeld();
        } finally {
            pauses.close();
            held.forEach(Lease::close);
        }
    }
}
