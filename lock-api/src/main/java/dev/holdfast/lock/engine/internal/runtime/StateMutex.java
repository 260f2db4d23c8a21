package dev.holdfast.lock.engine.internal.runtime;

import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs the transitions of one {@link LockEntry} one after the other. A transition only changes state. Calls to the outside (the
 * backend, a waiter's thread, a log) are recorded as <em>effects</em>, which run after the mutex is unlocked, in order, on the
 * same thread. So no call is made with the mutex held, and an answer that arrives at once is the next transition.
 */
public final class StateMutex {
    private static final BackgroundLog LOG = BackgroundLog.of(StateMutex.class);
    private static final String FAILED = "a follow-up action of the lock engine failed; please report this";
    /** Instead of an object for each lock. */
    private static final AtomicReferenceFieldUpdater<StateMutex, @Nullable Submitted> SUBMITTED =
            AtomicReferenceFieldUpdater.newUpdater(StateMutex.class, Submitted.class, "submitted");

    private final ReentrantLock mutex = new ReentrantLock();
    private final Guarded guarded;
    /** The effects of the present transition, if it has any. */
    private @Nullable Effects noted;
    /** The effects that threads are running: one list per thread. */
    private @Nullable Effects running;
    /** Transitions that the thread with the mutex runs before it leaves; the latest first. */
    private volatile @Nullable Submitted submitted;

    /** The state that a mutex guards. */
    public interface Guarded {
        /** The last step of each transition, under the mutex. */
        void endTransition();
    }

    /** A transition that another thread runs. */
    private static final class Submitted {
        final Runnable transition;
        /** The one before it; once they are taken, the one after it. */
        @Nullable Submitted neighbour;

        Submitted(Runnable transition) {
            this.transition = transition;
        }
    }

    /**
     * Creates the mutex of an entry.
     *
     * @param guarded the entry, as an object for each lock would be memory for each lock
     */
    public StateMutex(Guarded guarded) {
        this.guarded = guarded;
    }

    public void run(Runnable transition) {
        mutex.lock();
        try {
            transition.run();
        } finally {
            leave();
        }
    }

    /**
     * Runs a transition without waiting for the mutex: if another thread has it, that thread runs the transition before it leaves.
     * For the threads that renew leases and read answers. They must not queue behind the callers of one name, of which there may
     * be thousands.
     */
    public void submit(Runnable transition) {
        if (mutex.tryLock()) {
            try {
                transition.run();
            } finally {
                leave();
            }
            return;
        }
        add(transition);
        if (mutex.tryLock()) { // the other thread may have left before
            leave();
        }
    }

    private void add(Runnable transition) {
        Submitted latest = new Submitted(transition);
        do {
            latest.neighbour = submitted;
        } while (!SUBMITTED.compareAndSet(this, latest.neighbour, latest));
    }

    /** Needs no memory: what has been taken must be run. */
    private void takeSubmitted() {
        Submitted first = null;
        for (Submitted each = SUBMITTED.getAndSet(this, null); each != null; ) {
            Submitted earlier = each.neighbour;
            each.neighbour = first;
            first = each;
            each = earlier;
        }
        for (; first != null; first = first.neighbour) {
            call(first.transition);
        }
    }

    public boolean test(BooleanSupplier transition) {
        mutex.lock();
        try {
            return transition.getAsBoolean();
        } finally {
            leave();
        }
    }

    public <T extends @Nullable Object> T get(Supplier<T> transition) {
        mutex.lock();
        try {
            return transition.get();
        } finally {
            leave();
        }
    }

    /** Adds an effect that runs after the present transition. */
    public void afterUnlock(Runnable effect) {
        Effects effects = noted;
        if (effects == null) {
            effects = ofThisThread();
            noted = effects;
        }
        effects.todo.add(effect);
    }

    /**
     * Returns the effects of this thread. If an effect runs this transition, the new effects wait until that effect has ended. So
     * answers that arrive at once, such as refusals of a thousand waiters in a row, are handled in a loop instead of recursively.
     */
    private Effects ofThisThread() {
        Thread thread = Thread.currentThread();
        Effects effects = running;
        while (effects != null && (effects.thread != thread || effects.over)) {
            effects = effects.next;
        }
        return effects == null ? new Effects(thread) : effects;
    }

    private void leave() {
        Effects mine = unlock();
        while (submitted != null && mutex.tryLock()) {
            Effects more = unlock();
            mine = mine == null ? more : mine;
        }
        if (mine != null) {
            try {
                mine.run();
            } finally {
                end(mine);
            }
        }
    }

    /** Ends the transition; returns the effects that this thread must run now, if there are any. */
    private @Nullable Effects unlock() {
        try {
            takeSubmitted();
            endTransition();
            return begin();
        } finally {
            mutex.unlock();
        }
    }

    private void endTransition() {
        try {
            guarded.endTransition();
        } catch (Throwable e) {
            LOG.error(FAILED, e);
        }
    }

    /** The effects that this thread runs now; null if there are none, or if it is running its effects already. */
    private @Nullable Effects begin() {
        Effects mine = noted;
        noted = null;
        if (mine == null || mine.begun) {
            return null;
        }
        mine.begun = true;
        mine.next = running;
        running = mine;
        return mine;
    }

    /** Does not wait for the mutex either: a transition of another thread may call a thread's interrupt, which may block. */
    private void end(Effects ended) {
        ended.over = true;
        if (mutex.tryLock()) {
            try {
                unlink(ended);
            } finally {
                mutex.unlock();
            }
        } else {
            try {
                add(() -> unlink(ended));
            } catch (OutOfMemoryError noMemory) {
                // It stays in the list, and is skipped.
            }
        }
        if (submitted != null && mutex.tryLock()) { // somebody found the mutex taken by this
            leave();
        }
    }

    private void unlink(Effects ended) {
        if (running == ended) {
            running = ended.next;
            return;
        }
        Effects before = running;
        while (before != null && before.next != ended) {
            before = before.next;
        }
        if (before != null) {
            before.next = ended.next;
        }
    }

    /** The effects of one thread: only that thread adds to them, under the mutex, and removes from them. */
    private static final class Effects {
        final Thread thread;
        final Deque<Runnable> todo = new ArrayDeque<>(4);
        boolean begun;
        /** Set and read by that thread alone. */
        boolean over;

        @Nullable Effects next;

        Effects(Thread thread) {
            this.thread = thread;
        }

        public void run() {
            for (Runnable effect = todo.poll(); effect != null; effect = todo.poll()) {
                call(effect);
            }
        }
    }

    /** Runs one effect; a failure must not prevent the others. */
    private static void call(Runnable effect) {
        try {
            effect.run();
        } catch (Throwable e) {
            LOG.error(FAILED, e);
        }
    }
}
