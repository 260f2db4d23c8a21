package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.spi.Subscription;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The acquisitions of this process that wait, by owner id. A call that comes before there is a listener, between the reply
 * that put the acquisition into the queue and {@link #listen}, is kept for it. Thread-safe, never blocks.
 */
public final class RedisWaiters {
    private final Map<String, Waiter> waiters = new ConcurrentHashMap<>();
    private volatile @Nullable Unwanted unwanted;

    /** Sets what receives a lock that is handed over to an owner that does not wait. */
    public void onUnwanted(Unwanted receiver) {
        unwanted = receiver;
    }

    /** Receives a lock that is handed over to an owner that does not wait any more. */
    public interface Unwanted {
        /**
         * Called on a thread that must not block.
         *
         * @param key the key of the lock's state
         * @param owner the owner in hexadecimal
         * @param generation the attempt that the server had seen last
         */
        void handedOver(String key, String owner, long generation);
    }

    /** Makes calls to this owner count from now on. */
    public void expect(String owner) {
        waiters.computeIfAbsent(owner, key -> new Waiter()).latest = null;
    }

    /** As {@link #expect}, and from now on that attempt is the owner's latest one, to which the lock may be handed over. */
    public void expect(String owner, long generation, BiConsumer<Long, Long> onHandOver) {
        waiters.computeIfAbsent(owner, key -> new Waiter()).latest = new Latest(generation, onHandOver);
    }

    public void forget(String owner) {
        waiters.remove(owner);
    }

    /** Nothing is known to be in the queue now; a listener may be put there again. */
    public void forgetUnlessListened(String owner) {
        waiters.computeIfPresent(owner, (key, waiter) -> waiter.listener == null ? null : waiter);
    }

    public Subscription listen(String owner, Runnable onMaybeFree) {
        Waiter waiter = waiters.computeIfAbsent(owner, key -> new Waiter());
        Runnable listener = onMaybeFree::run; // distinct, though the same caller listens again
        waiter.listen(listener);
        return () -> {
            if (waiter.deafen(listener)) {
                waiters.remove(owner, waiter);
            }
        };
    }

    /** Whether a call for this owner has come since the last time this was asked. */
    public boolean takeHeard(String owner) {
        Waiter waiter = waiters.get(owner);
        return waiter != null && waiter.heard.getAndSet(false);
    }

    /**
     * A message: the owner that is called, or {@code owner generation token lease key}, if the lock is its now. That counts for the
     * attempt that the server had seen last; if there has been a later one, its answer decides.
     */
    public void message(String text) {
        String[] parts = text.split(" ", -1);
        Waiter waiter = waiters.get(parts[0]);
        if (waiter == null) {
            Unwanted receiver = unwanted;
            if (receiver != null
                    && isHandOver(parts)
                    && parts[0].matches("[0-9a-f]{32}")
                    && parts[1].matches("\\d{1,18}")) {
                receiver.handedOver(parts[4], parts[0], Long.parseLong(parts[1]));
            }
            return;
        }
        Latest latest = waiter.latest;
        if (isHandOver(parts) && latest != null && parts[1].equals(Long.toString(latest.generation))) {
            waiter.heard.set(true);
            latest.onHandOver.accept(Long.parseLong(parts[2]), Long.parseLong(parts[3]));
        } else {
            waiter.call();
        }
    }

    private static boolean isHandOver(String[] parts) {
        return parts.length == 5
                && parts[2].matches("[1-9]\\d{0,15}")
                && Long.parseLong(parts[2]) < 1L << 53
                && parts[3].matches("[1-9]\\d{0,15}");
    }

    /** Whether that owner may be called. */
    public boolean knows(String owner) {
        return waiters.containsKey(owner);
    }

    public void call(String owner) {
        Waiter waiter = waiters.get(owner);
        if (waiter != null) {
            waiter.call();
        }
    }

    /** Calls all waiters: calls may have been missed. */
    void callAll() {
        waiters.values().forEach(Waiter::call);
    }

    public int size() {
        return waiters.size();
    }

    /** The latest attempt, and who takes the token and the lease in ms that it is given later. */
    private record Latest(long generation, BiConsumer<Long, Long> onHandOver) {}

    private static final class Waiter {
        /** Delivers a call to the listener. */
        private final AtomicBoolean called = new AtomicBoolean();
        /** Something has come since {@link RedisWaiters#takeHeard} last asked. */
        private final AtomicBoolean heard = new AtomicBoolean();

        private volatile @Nullable Runnable listener;
        volatile @Nullable Latest latest;

        public void listen(Runnable onMaybeFree) {
            listener = onMaybeFree;
            deliver();
        }

        boolean deafen(Runnable onMaybeFree) {
            boolean last = listener == onMaybeFree;
            if (last) {
                listener = null;
            }
            return last;
        }

        public void call() {
            heard.set(true);
            called.set(true);
            deliver();
        }

        /** Each call is delivered once, by the later of caller and listener. */
        private void deliver() {
            Runnable present = listener;
            if (present != null && called.compareAndSet(true, false)) {
                present.run();
            }
        }
    }
}
