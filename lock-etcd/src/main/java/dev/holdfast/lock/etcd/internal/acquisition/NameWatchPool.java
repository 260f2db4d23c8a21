package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.spi.Subscription;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A client's {@link SharedWatch}es: those of each name at which it waits or has recently waited. Thread-safe. */
public final class NameWatchPool {
    private static final long LINGER_MILLIS = 1_000;

    private final EtcdCalls calls;
    private final ConcurrentMap<String, SharedWatch> watches = new ConcurrentHashMap<>();
    private volatile boolean closed;

    public NameWatchPool(EtcdCalls calls) {
        this.calls = calls;
    }

    /** Registers a waiter. The callback runs on any thread, when the waiter is first or its key is gone. */
    public Subscription add(QueueHeadTicket line, Runnable onNews) {
        return add("lock " + line.acquisition().id().name(), new NameWatch(calls, line), line, onNews);
    }

    /** Registers a waiter. The callback runs on any thread, when there is room for the waiter or its key is gone. */
    public Subscription add(PermitTicket ticket, Runnable onNews) {
        return add("permits " + ticket.acquisition().id().name(), new PermitWatch(calls, ticket), ticket, onNews);
    }

    private Subscription add(String name, SharedWatch fresh, EtcdTicket ticket, Runnable onNews) {
        AtomicReference<@Nullable SharedWatch> outdated = new AtomicReference<>();
        SharedWatch watch = watches.compute(name, (same, present) -> {
            boolean isUsable = present != null && present.history >= fresh.history;
            outdated.set(isUsable ? null : present);
            SharedWatch used = isUsable ? present : fresh;
            used.users++;
            return used;
        });
        SharedWatch before = outdated.get();
        if (before != null) {
            before.close();
            before.onEarlierBeginning(); // the attempts of its other waiters begin with the new history
        }
        Subscription listening = watch.add(ticket, onNews);
        if (watch == fresh) {
            watch.open();
        }
        if (closed) {
            watch.close();
        }
        AtomicBoolean ended = new AtomicBoolean();
        return () -> {
            if (ended.compareAndSet(false, true)) {
                listening.close();
                left(name, watch);
            }
        };
    }

    private void left(String name, SharedWatch watch) {
        watches.computeIfPresent(name, (same, present) -> {
            if (present == watch && --watch.users == 0) {
                watch.idleNanos = System.nanoTime();
                if (!watch.isEndPlanned) {
                    plan(name, watch, LINGER_MILLIS);
                }
            }
            return present;
        });
    }

    private void plan(String name, SharedWatch watch, long delayMillis) {
        watch.isEndPlanned = true;
        try {
            calls.executor().schedule(() -> endIfIdle(name, watch), delayMillis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            closed = true; // close() ends it
        }
    }

    private void endIfIdle(String name, SharedWatch watch) {
        SharedWatch left = watches.computeIfPresent(name, (same, present) -> {
            if (present != watch) {
                return present;
            }
            watch.isEndPlanned = false;
            long idleMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - watch.idleNanos);
            if (watch.users > 0) {
                return present;
            }
            if (idleMillis < LINGER_MILLIS && !closed) {
                plan(name, watch, LINGER_MILLIS - idleMillis);
                return present;
            }
            return null;
        });
        if (left != watch) {
            watch.close();
        }
    }

    /** Closes all watches. */
    public void close() {
        closed = true;
        watches.values().forEach(SharedWatch::close);
        watches.clear();
    }
}
