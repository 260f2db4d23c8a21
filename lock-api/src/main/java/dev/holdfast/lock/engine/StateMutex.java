package dev.holdfast.lock.engine;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the transitions of one {@link LockEntry} one after the other. A transition only changes state; whatever calls out
 * (the backend, a waiter's thread, a log) it notes as an <em>effect</em>. The effects of a transition run after the mutex
 * was left, in order, on the same thread. So no call is made with the mutex held, and an answer that comes back at
 * once is the next transition.
 */
final class StateMutex {
    private static final Logger LOG = LoggerFactory.getLogger(StateMutex.class);

    private final ReentrantLock mutex = new ReentrantLock();
    private final Runnable last;
    /** Those of the present transition, if it has any. */
    private @Nullable Effects noted;
    /** Those that threads are running: a list of one a thread. */
    private @Nullable Effects running;

    /**
     * Creates the mutex of an entry.
     *
     * @param last runs at the end of each transition, under the mutex
     */
    StateMutex(Runnable last) {
        this.last = last;
    }

    void run(Runnable transition) {
        mutex.lock();
        try {
            transition.run();
        } finally {
            leave();
        }
    }

    boolean test(BooleanSupplier transition) {
        mutex.lock();
        try {
            return transition.getAsBoolean();
        } finally {
            leave();
        }
    }

    <T extends @Nullable Object> T get(Supplier<T> transition) {
        mutex.lock();
        try {
            return transition.get();
        } finally {
            leave();
        }
    }

    /** Notes what is to be done after the present transition. */
    void afterUnlock(Runnable effect) {
        Effects effects = noted;
        if (effects == null) {
            effects = ofThisThread();
            noted = effects;
        }
        effects.todo.add(effect);
    }

    /**
     * If this is a transition of an effect that the same thread is running, what it notes waits until that effect is done. So
     * answers that come back at once, such as refusals of a thousand waiters in a row, are handled in a loop, not one inside
     * the other.
     */
    private Effects ofThisThread() {
        Thread thread = Thread.currentThread();
        Effects effects = running;
        while (effects != null && effects.thread != thread) {
            effects = effects.next;
        }
        return effects == null ? new Effects(thread) : effects;
    }

    private void leave() {
        try {
            last.run();
        } finally {
            Effects mine = begin();
            mutex.unlock();
            if (mine != null) {
                try {
                    mine.run();
                } finally {
                    end(mine);
                }
            }
        }
    }

    /** What this thread is to run now; null if there is nothing, or if it is running its effects already. */
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

    private void end(Effects ended) {
        mutex.lock();
        try {
            if (running == ended) {
                running = ended.next;
            } else {
                Effects before = running;
                while (before != null && before.next != ended) {
                    before = before.next;
                }
                if (before != null) {
                    before.next = ended.next;
                }
            }
        } finally {
            mutex.unlock();
        }
    }

    /** What one thread is to do: only that thread adds to it, under the mutex, and takes from it. */
    private static final class Effects {
        final Thread thread;
        final Deque<Runnable> todo = new ArrayDeque<>(4);
        boolean begun;

        @Nullable Effects next;

        Effects(Thread thread) {
            this.thread = thread;
        }

        void run() {
            for (Runnable effect = todo.poll(); effect != null; effect = todo.poll()) {
                call(effect);
            }
        }
    }

    /** One effect that fails must not keep the others from being done. */
    private static void call(Runnable effect) {
        try {
            effect.run();
        } catch (Throwable e) {
            report(e);
        }
    }

    private static void report(Throwable failure) {
        try {
            LOG.error("the lock engine failed to do what it had decided; please report this", failure);
        } catch (Throwable ignored) {
            // The log fails as well: nobody is left to be told, and what else was decided is still to be done.
        }
    }
}
