package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The removals of a client that have failed once, and those that were added while the whole store failed. They form one queue,
 * which is retried in batches.
 *
 * <p><b>Batches.</b> One batch is in flight at a time. While requests fail or are refused, a batch has {@value RoundPace#MIN_SIZE}
 * removals, and the pause before the next one doubles up to a second. A batch that succeeds is followed at once by one twice as
 * large. A store that is down therefore gets some ten requests a second, however long the queue is, and a store that has
 * recovered is cleaned soon. A removal that fails moves to the end, so that one failed part of the store does not block the
 * others. A new removal is tried once on its own first. A removal that the store refuses, as during the change of a password, has
 * its own pause: a second, doubled each time up to half a minute. After that it is retried in the next batch that reaches it.
 * While nothing is confirmed, batches have {@value RoundPace#MIN_SIZE} removals each half to one second.
 *
 * <p><b>Bounds.</b> If the store's entries end with their leases, a removal is retried until then, and a full queue drops its oldest
 * entries: it keeps {@value #CAPACITY} abandonments, and {@value #MAX_SIZE} removals in all. Other stores may keep an entry as
 * long as the client's session, and only a removal makes the lock usable again, so nothing is dropped. Instead, {@link #isFull}
 * stops new acquisitions while {@value #CAPACITY} removals wait. The queue then has at most these removals, those of the locks
 * that were held at that time, and those of the acquisitions that were in flight.
 */
final class Backlog {
    static final int CAPACITY = 1_000;
    static final int MAX_SIZE = 10_000;

    /** Sends a removal on a thread that may block, if the backend does; reports the outcome like {@link Removal#send}. */
    interface Sender {
        void send(Removal<?> removal, Consumer<@Nullable LockException> answered);
    }

    private final EngineRuntime runtime;
    private final boolean expiring;
    private final Sender sender;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Deque<Removal<?>> waiting = new ArrayDeque<>();
    private Subscription timer = Subscription.NONE;
    private boolean armed;
    private long nextBatchNanos;
    private final RoundPace pace = new RoundPace();
    private int inFlight;
    private boolean closed;
    /** The number of removals that wait or are in flight, and how many of them are abandonments; written under the mutex. */
    private volatile int size;

    private int abandons;

    /**
     * Creates an empty backlog.
     *
     * @param expiring whether everything on the server ends with its lease
     */
    Backlog(EngineRuntime runtime, boolean expiring, Sender sender) {
        this.runtime = runtime;
        this.expiring = expiring;
        this.sender = sender;
    }

    /** Whether all of the latest requests failed: abandonments then skip their own first try. */
    boolean isDown() {
        return pace.isDown();
    }

    /** Whether new acquisitions must fail because too many removals wait that may not be dropped. */
    boolean isFull() {
        return !expiring && size >= CAPACITY;
    }

    int size() {
        return size;
    }

    /** Adds a removal that has not been tried yet, at the front. */
    void add(Removal<?> removal) {
        List<Removal<?>> dropped = new ArrayList<>(1);
        mutex.lock();
        try {
            if (closed) {
                dropped.add(removal);
            } else {
                waiting.addFirst(removal);
                count(removal, 1);
                plan(untilDue(removal, runtime.ticker().nanos()));
            }
            if (expiring && abandons > CAPACITY) {
                dropOldestAbandonment(dropped);
            } else if (expiring && size > MAX_SIZE) {
                drop(waiting.removeLast(), dropped);
            }
        } finally {
            mutex.unlock();
        }
        dropped.forEach(Removal::giveUp);
    }

    /** Adds a removal whose first try has failed; returns false if it is not worth a retry. */
    boolean add(Removal<?> removal, LockException failure) {
        mutex.lock();
        try {
            if (Removal.mayPass(failure)) {
                pace.noteFailure();
            }
        } finally {
            mutex.unlock();
        }
        boolean again = planRetry(removal, failure) && !isClosed();
        if (again) {
            add(removal);
        } else {
            removal.giveUp();
        }
        return again;
    }

    private void dropOldestAbandonment(List<Removal<?>> dropped) {
        for (Iterator<Removal<?>> oldestFirst = waiting.descendingIterator(); oldestFirst.hasNext(); ) {
            Removal<?> removal = oldestFirst.next();
            if (removal.kind != Removal.Kind.RELEASE) {
                oldestFirst.remove();
                drop(removal, dropped);
                return;
            }
        }
    }

    private void drop(Removal<?> removal, List<Removal<?>> dropped) {
        count(removal, -1);
        dropped.add(removal);
    }

    private boolean planRetry(Removal<?> removal, LockException failure) {
        if (Removal.mayPass(failure)) {
            return true;
        }
        if (failure instanceof LockClosedException || removal.kind == Removal.Kind.ABANDON_REFUSED) {
            return false;
        }
        long due = runtime.ticker().nanos() + removal.nextRefusedPauseNanos();
        removal.dueNanos = due == 0 ? 1 : due;
        return !expiring || removal.worthUntilNanos - due > 0;
    }

    /** Updates the counts when a removal enters or leaves the queue; called under the mutex. */
    private void count(Removal<?> removal, int change) {
        size = size + change;
        if (removal.kind != Removal.Kind.RELEASE) {
            abandons += change;
        }
    }

    private static long untilDue(Removal<?> removal, long nowNanos) {
        return removal.dueNanos == 0 ? 0 : Math.max(0, removal.dueNanos - nowNanos);
    }

    private void plan() {
        long now = runtime.ticker().nanos();
        waiting.stream().mapToLong(removal -> untilDue(removal, now)).min().ifPresent(this::plan);
    }

    /** Sets the timer for the next batch, unless an earlier one is set. */
    private void plan(long untilDueNanos) {
        if (inFlight > 0 || closed) {
            return;
        }
        long delay = Math.max(untilDueNanos, pace.pauseNanos(runtime.random()));
        long next = runtime.ticker().nanos() + delay;
        if (!armed || next - nextBatchNanos < 0) {
            timer.close();
            armed = true;
            nextBatchNanos = next;
            timer = runtime.timer().after(delay, this::sendBatch);
        }
    }

    private void sendBatch() {
        List<Removal<?>> next = new ArrayList<>();
        List<Removal<?>> ended = new ArrayList<>();
        mutex.lock();
        try {
            if (inFlight > 0) {
                return; // an earlier timer has run
            }
            armed = false;
            long now = runtime.ticker().nanos();
            int remaining = waiting.size();
            while (remaining-- > 0 && next.size() < pace.batchSize()) {
                Removal<?> removal = waiting.removeFirst();
                if (removal.isDone() || expiring && removal.worthUntilNanos - now <= 0) {
                    count(removal, -1);
                    ended.add(removal);
                } else if (removal.dueNanos != 0 && removal.dueNanos - now > 0) {
                    waiting.addLast(removal);
                } else {
                    next.add(removal);
                }
            }
            inFlight = next.size();
            pace.beginBatch();
            if (next.isEmpty()) {
                pace.noteNothingDue(waiting.isEmpty());
                plan();
            }
        } finally {
            mutex.unlock();
        }
        ended.forEach(Removal::giveUp);
        next.forEach(this::send);
    }

    /** Sends one removal. The batch must end whatever happens to one of its requests. */
    private void send(Removal<?> removal) {
        AtomicBoolean answeredOnce = new AtomicBoolean();
        Consumer<@Nullable LockException> once = failure -> {
            if (answeredOnce.compareAndSet(false, true)) {
                answered(removal, failure);
            }
        };
        try {
            sender.send(removal, once);
        } catch (Throwable e) {
            once.accept(Failures.noThread(removal.name(), e));
        }
    }

    private void answered(Removal<?> removal, @Nullable LockException failure) {
        boolean again = failure != null && planRetry(removal, failure);
        mutex.lock();
        try {
            pace.noteAnswer(failure);
            if (closed) {
                size = 0;
            } else if (again) {
                waiting.addLast(removal);
            } else {
                count(removal, -1);
            }
            if (--inFlight == 0) {
                pace.endBatch();
                plan();
            }
        } finally {
            mutex.unlock();
        }
        if (!again || isClosed()) {
            removal.giveUp();
        }
    }

    private boolean isClosed() {
        mutex.lock();
        try {
            return closed;
        } finally {
            mutex.unlock();
        }
    }

    /** Stops all further batches; remaining entries end with their leases. */
    void close() {
        List<Removal<?>> left;
        mutex.lock();
        try {
            closed = true;
            timer.close();
            left = new ArrayList<>(waiting);
            waiting.clear();
            size = 0;
            abandons = 0;
        } finally {
            mutex.unlock();
        }
        left.forEach(Removal::giveUp);
    }
}
