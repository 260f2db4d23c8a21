package dev.holdfast.lock.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
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
 * once is simply the next transition.
 */
final class StateMutex {
    private static final Logger LOG = LoggerFactory.getLogger(StateMutex.class);

    private final ReentrantLock mutex = new ReentrantLock();
    private final Runnable last;
    private @Nullable List<Runnable> effects;
    private @Nullable Running running;

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
        if (effects == null) {
            effects = new ArrayList<>(4);
        }
        effects.add(effect);
    }

    private void leave() {
        Running mine = null;
        try {
            List<Runnable> todo = effects;
            if (todo != null) {
                mine = begin(todo);
                effects = null; // if there was no memory for it, they wait for the next transition
            }
            last.run();
        } finally {
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

    /**
     * Under the mutex. If this is a transition of an effect that the same thread is running, what it noted waits until that
     * effect is done, and null is returned. So answers that come back at once, such as refusals of a thousand waiters in a
     * row, are handled in a loop, not one inside the other.
     */
    private @Nullable Running begin(List<Runnable> todo) {
        Thread thread = Thread.currentThread();
        for (Running other = running; other != null; other = other.next) {
            if (other.thread == thread) {
                other.todo.addAll(todo);
                return null;
            }
        }
        running = new Running(thread, new ArrayDeque<>(todo), running);
        return running;
    }

    private void end(Running ended) {
        mutex.lock();
        try {
            if (running == ended) {
                running = ended.next;
            } else {
                Running before = running;
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

    /** The effects that a thread is running: a node of the list of all of them. */
    private static final class Running {
        final Thread thread;
        final Deque<Runnable> todo;

        @Nullable Running next;

        Running(Thread thread, Deque<Runnable> todo, @Nullable Running next) {
            this.thread = thread;
            this.todo = todo;
            this.next = next;
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
