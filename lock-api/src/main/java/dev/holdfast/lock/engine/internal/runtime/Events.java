package dev.holdfast.lock.engine.internal.runtime;

import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/** Calls the listeners, in order, on the thread for events. Without listeners it costs one read. */
public final class Events {
    private final BackgroundLog log;
    private final List<LockListener> listeners = new CopyOnWriteArrayList<>();
    private final Executor executor;
    private final AtomicBoolean dropping = new AtomicBoolean();
    private final LongAdder dropped = new LongAdder();

    public Events(Executor executor) {
        this(BackgroundLog.of(Events.class), executor);
    }

    public Events(BackgroundLog log, Executor executor) {
        this.log = log;
        this.executor = executor;
    }

    public void add(LockListener listener) {
        listeners.add(listener);
    }

    public void remove(LockListener listener) {
        listeners.remove(listener);
    }

    /** The number of events that were dropped. */
    public long dropped() {
        return dropped.sum();
    }

    /** Whether there is a listener; frequent events are created only then. */
    public boolean hasListeners() {
        return !listeners.isEmpty();
    }

    public void publish(Consumer<LockListener> event) {
        if (!hasListeners()) {
            return;
        }
        try {
            executor.execute(() -> listeners.forEach(listener -> call(listener, event)));
            dropping.set(false);
        } catch (RejectedExecutionException | OutOfMemoryError full) { // or no thread
            drop();
        }
    }

    /** Counts an event that was dropped. */
    public void drop() {
        dropped.increment();
        try {
            if (!dropping.getAndSet(true)) {
                log.warn("lock events are dropped: the listeners are too slow");
            }
        } catch (OutOfMemoryError noMemory) {
            dropping.set(false);
        }
    }

    private void call(LockListener listener, Consumer<LockListener> event) {
        try {
            event.accept(listener);
        } catch (Throwable e) { // one listener's Error must not hide the event from the next
            log.warn(
                    "lock listener {} failed; it misses this event",
                    listener.getClass().getName(),
                    e);
        }
    }
}
