package dev.holdfast.lock.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the transitions of one {@link Contender} one after the other. A transition only changes state; whatever calls out
 * (the backend, a waiter's thread, a log) it notes as an <em>effect</em>. The effects of a transition run after the mutex
 * was left, in order, on the same thread. So no call is made with the mutex held, and an answer that comes back at
 * once is simply the next transition.
 */
final class Transitions {
    private static final Logger LOG = LoggerFactory.getLogger(Transitions.class);

    private final ReentrantLock mutex = new ReentrantLock();
    private final Runnable last;
    private @Nullable List<Runnable> effects;

    /**
     * Creates the mutex of a contender.
     *
     * @param last runs at the end of each transition, under the mutex
     */
    Transitions(Runnable last) {
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
    void effect(Runnable effect) {
        if (effects == null) {
            effects = new ArrayList<>(4);
        }
        effects.add(effect);
    }

    private void leave() {
        List<Runnable> todo = effects;
        effects = null;
        try {
            last.run();
        } finally {
            mutex.unlock();
        }
        if (todo != null) {
            todo.forEach(Transitions::call);
        }
    }

    /** One effect that fails must not keep the others from being done. */
    private static void call(Runnable effect) {
        try {
            effect.run();
        } catch (Throwable e) {
            LOG.error("the lock engine failed to do what it had decided; please report this", e);
        }
    }
}
