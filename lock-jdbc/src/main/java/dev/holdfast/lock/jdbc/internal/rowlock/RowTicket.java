package dev.holdfast.lock.jdbc.internal.rowlock;

import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/** A waiter's entry in the database's queue for a row, with the callback for its grant. Thread-safe. */
public final class RowTicket implements Ticket {
    private record Listener(Runnable onMaybeFree) {}

    private final Executor executor;
    private final Set<Listener> listeners = ConcurrentHashMap.newKeySet();
    private volatile boolean called;

    public RowTicket(Executor executor) {
        this.executor = executor;
    }

    /** Called when the lock may be free; may come before a callback is set. */
    public void call() {
        called = true;
        listeners.forEach(listener -> listener.onMaybeFree().run());
    }

    public Subscription listen(Runnable onMaybeFree) {
        Listener listener = new Listener(onMaybeFree);
        listeners.add(listener);
        if (called) {
            executor.execute(onMaybeFree);
        }
        return () -> listeners.remove(listener);
    }
}
