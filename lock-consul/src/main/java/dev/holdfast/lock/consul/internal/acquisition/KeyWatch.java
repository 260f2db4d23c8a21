package dev.holdfast.lock.consul.internal.acquisition;

import dev.holdfast.lock.consul.internal.http.ConsulHttp;
import dev.holdfast.lock.consul.internal.http.Deadline;
import dev.holdfast.lock.consul.internal.http.Reply;
import dev.holdfast.lock.consul.internal.http.RequestGate;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The only query for all waiters of a name in this client; it notifies them when the key is absent. The agent answers
 * it when the key changes. After a failure, the query restarts. Beyond the limit of blocking queries, {@link KeyLooks}
 * asks for the name together with others. Thread-safe; never blocks.
 */
final class KeyWatch {
    private static final long WAIT_SECONDS = 60;
    /** The agent adds up to a sixteenth to the wait. */
    private static final long TIMEOUT_MILLIS = 75_000;

    private static final long LOOK_MILLIS = 5_000;
    private static final long NO_INDEX = -1;

    /** A query on an absent key returns at each write to a neighbouring key. */
    private static final long ABSENT_PAUSE_MILLIS = 100;

    /** The same during a lock-delay, when waiters poll anyway. */
    private static final long QUIET_PAUSE_MILLIS = 500;

    /** The pause after a query that did not block: a proxy answers from its cache. */
    private static final long PLAIN_PAUSE_MILLIS = 1_000;

    private static final long MAX_PAUSE_MILLIS = 5_000;

    private final String key;
    private final ConsulHttp http;
    private final KeyLooks looks;
    private final RequestGate blocking;
    private final Runnable onEnd;
    private final ReentrantLock lock = new ReentrantLock();
    private final List<Runnable> waiters = new ArrayList<>();
    private @Nullable CompletableFuture<Reply> query;
    private boolean started;
    private boolean ended;
    private boolean absent;
    private int failures;
    /** Guarded by the lock, like the others. */
    private long quietUntilNanos = System.nanoTime();

    /**
     * Creates a watch without a query.
     *
     * @param blocking limits the number of blocking queries
     * @param looks for names beyond that limit
     * @param onEnd called when the last waiter has left
     */
    KeyWatch(String key, ConsulHttp http, KeyLooks looks, RequestGate blocking, Runnable onEnd) {
        this.key = key;
        this.http = http;
        this.looks = looks;
        this.blocking = blocking;
        this.onEnd = onEnd;
    }

    /** Adds a waiter; null if the watch has ended. */
    @Nullable Subscription add(Runnable onMaybeFree) {
        Runnable waiter = () -> onMaybeFree.run(); // one object for each subscription
        boolean start;
        boolean notifyNow;
        lock.lock();
        try {
            if (ended) {
                return null;
            }
            waiters.add(waiter);
            start = !started;
            started = true;
            notifyNow = absent;
        } finally {
            lock.unlock();
        }
        if (start) {
            ask(0, false);
        } else if (notifyNow) {
            notifyWaiter(waiter);
        }
        return () -> remove(waiter);
    }

    /** Notifies nobody for a while: a query on an absent key returns at each write to a neighbouring key. */
    void beQuiet(long millis) {
        lock.lock();
        try {
            quietUntilNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        } finally {
            lock.unlock();
        }
    }

    boolean hasEnded() {
        lock.lock();
        try {
            return ended;
        } finally {
            lock.unlock();
        }
    }

    private void remove(Runnable waiter) {
        CompletableFuture<Reply> running;
        lock.lock();
        try {
            if (!waiters.remove(waiter) || !waiters.isEmpty()) {
                return;
            }
            ended = true;
            running = query;
        } finally {
            lock.unlock();
        }
        onEnd.run();
        if (running != null) {
            running.cancel(true);
        }
    }

    /**
     * Queries changes since an index; 0 reads the current state.
     *
     * @param entered whether it has its place among the blocking queries already
     */
    private void ask(long index, boolean entered) {
        boolean queries = entered || ConsulKeys.isPath(key) && blocking.tryEnter();
        try {
            send(index, queries);
        } catch (Throwable e) { // no memory: it is repeated after a pause, like a query without an answer
            answered(index, queries, true, null);
        }
    }

    private void send(long index, boolean queries) {
        long askedNanos = System.nanoTime();
        CompletableFuture<Reply> asked = queries ? query(index) : look();
        boolean wanted;
        lock.lock();
        try {
            query = asked;
            wanted = !ended;
        } finally {
            lock.unlock();
        }
        if (!wanted) {
            asked.cancel(true);
        }
        asked.whenComplete((reply, failure) -> {
            Reply usable = failure == null ? reply : null;
            boolean early = millisSince(askedNanos) < PLAIN_PAUSE_MILLIS;
            boolean cached = queries && index > 0 && early && usable != null && usable.index() == index;
            answered(index, queries, !cached, usable);
        });
    }

    private CompletableFuture<Reply> query(long index) {
        String path = ConsulKeys.path(key);
        return index == 0
                ? http.get(path, Deadline.in(LOOK_MILLIS))
                : http.blockingGet(path + "?index=" + index + "&wait=" + WAIT_SECONDS + "s", TIMEOUT_MILLIS);
    }

    /** An answer without an index, so that a query that follows reads the current state first. */
    private CompletableFuture<Reply> look() {
        return looks.isAbsent(key).thenApply(absent -> new Reply(absent ? Reply.NOT_FOUND : Reply.OK, NO_INDEX, ""));
    }

    private void answered(long asked, boolean entered, boolean prompt, @Nullable Reply reply) {
        int status = reply == null ? 0 : reply.status();
        boolean usable = status == Reply.OK || status == Reply.NOT_FOUND;
        boolean free = status == Reply.NOT_FOUND;
        List<Runnable> notified;
        boolean stays;
        long pauseMillis;
        lock.lock();
        try {
            failures = usable ? 0 : failures + 1;
            boolean quiet = absent && quietUntilNanos - System.nanoTime() > 0;
            absent = free;
            notified = free && !ended && !quiet ? copyOfWaiters() : List.of();
            pauseMillis = quiet && free ? QUIET_PAUSE_MILLIS : pause(usable, free, prompt);
            stays = entered && !ended && pauseMillis == 0;
        } finally {
            lock.unlock();
        }
        notified.forEach(KeyWatch::notifyWaiter);
        long next = usable && reply != null ? next(asked, reply.index()) : 0;
        if (stays) {
            ask(next, true);
            return;
        }
        if (entered) {
            blocking.leave();
        }
        if (hasEnded()) {
            return;
        }
        try {
            later(pauseMillis).execute(() -> ask(next, false));
        } catch (Throwable e) { // no memory, or no thread
            stopped();
        }
    }

    /** Without memory for it, the waiters are notified after the next query. */
    private List<Runnable> copyOfWaiters() {
        try {
            return List.copyOf(waiters);
        } catch (OutOfMemoryError noMemory) {
            return List.of();
        }
    }

    /** The next waiter starts the query again; until then, waiters poll. */
    private void stopped() {
        lock.lock();
        try {
            started = false;
        } finally {
            lock.unlock();
        }
    }

    /** Notifies a waiter. An exception or an Error of one waiter must not end the query for the others. */
    private static void notifyWaiter(Runnable waiter) {
        try {
            waiter.run();
        } catch (Throwable e) {
            report(e);
        }
    }

    private static void report(Throwable failure) {
        try {
            Thread thread = Thread.currentThread();
            thread.getUncaughtExceptionHandler().uncaughtException(thread, failure);
        } catch (Throwable ignored) {
            // The handler failed too, as without memory: the query goes on for the others.
        }
    }

    private static long millisSince(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos);
    }

    private long pause(boolean usable, boolean free, boolean prompt) {
        if (!usable) {
            return Math.min(MAX_PAUSE_MILLIS, 50L << Math.min(failures, 10));
        }
        return !prompt ? PLAIN_PAUSE_MILLIS : free ? ABSENT_PAUSE_MILLIS : 0;
    }

    /** An index that decreases or is not positive restarts the query, as Consul's manual requires. */
    private static long next(long asked, long index) {
        return index < asked || index == NO_INDEX ? 0 : Math.max(1, index);
    }

    private static Executor later(long pauseMillis) {
        return pauseMillis == 0
                ? Runnable::run
                : CompletableFuture.delayedExecutor(pauseMillis, TimeUnit.MILLISECONDS, Runnable::run);
    }
}
