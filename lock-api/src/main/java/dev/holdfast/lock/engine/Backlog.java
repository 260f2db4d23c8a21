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
 * The removals of a client that have failed once, and those that came while the whole store failed: one queue, tried in
 * rounds.
 *
 * <p><b>Rounds.</b> One round is under way at a time. While requests fail or are refused it has {@value RoundPace#SMALLEST}
 * removals, and the pause before the next one doubles up to a second; a round that succeeds is followed at once by one
 * twice as large. So a dead store gets some ten requests a second however much is to be removed, and one that has
 * recovered is clean soon. What fails goes to the end, so that one part of the store that is dead does not keep the others
 * from being cleaned; nor does it keep what is new from a try of its own. A removal that the store refuses, as during the
 * change of a password, has a pause of its own: a second, doubled each time up to half a minute. After that it is tried
 * as soon as the rounds come to it; while nothing is confirmed, these have {@value RoundPace#SMALLEST} removals each half to
 * one second.
 *
 * <p><b>Bounds.</b> Where what was left ends with its lease, nothing is tried for longer than that, and when the queue is
 * full, the oldest gives way: of {@value #CAPACITY} abandonments, and of {@value #LARGEST} removals in all. Elsewhere it may
 * stay as long as the client's session, and only a removal makes the lock usable again: nothing is dropped; instead
 * {@link #isFull} keeps the client from asking for more while {@value #CAPACITY} removals wait, of whatever kind and for
 * whatever reason. So there are never more than these, those of the locks that it held by then, and those of the
 * acquisitions that were under way.
 */
final class Backlog {
    static final int CAPACITY = 1_000;
    static final int MAX_SIZE = 10_000;

    /** Sends a removal on a thread that may block, if the backend does; tells the outcome as {@link Removal#send}. */
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
    /** How many wait or are under way, and how many of these are abandonments; written under the mutex. */
    private volatile int size;

    private int abandons;

    /**
     * Creates an empty one.
     *
     * @param expiring whether everything on the server ends with its lease
     */
    Backlog(EngineRuntime runtime, boolean expiring, Sender sender) {
        this.runtime = runtime;
        this.expiring = expiring;
        this.sender = sender;
    }

    /** All of the latest requests failed: what may wait is to be added at once, without a try of its own. */
    boolean isDead() {
        return pace.isDead();
    }

    /** So much waits that may not be dropped that no further acquisition is to be begun. */
    boolean isFull() {
        return !expiring && size >= CAPACITY;
    }

    int size() {
        return size;
    }

    /** Adds one that has not been tried yet: it is the next one. */
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

    /** Adds one whose own try has failed; false if another one is not worth it. */
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

    /** Under the mutex: it begins or ends to belong to this queue. */
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

    /** Sets the timer for the next round, unless it comes earlier anyway. */
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
                return; // an earlier timer ran after all
            }
            armed = false;
            long now = runtime.ticker().nanos();
            int looks = waiting.size();
            while (looks-- > 0 && next.size() < pace.batchSize()) {
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

    /** The round must end, whatever happens to one of its requests. */
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

    /** No further rounds; what is still there ends with its lease. */
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
