package dev.holdfast.lock.memcached;

import com.spotify.folsom.ConnectionChangeListener;
import com.spotify.folsom.MemcacheClient;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A client that is replaced by a new one when it neither connects nor fails in time, or when its thread has ended. Folsom 1.21
 * waits forever if a new connection is reset before anything was sent over it. Netty ends a thread at an Error, as in a full
 * heap, and does not start it again. Requests look for both, so an idle client costs nothing. Thread-safe.
 */
final class HealingClient implements InvocationHandler {
    private static final BackgroundLog LOG = BackgroundLog.of(HealingClient.class);

    private final Supplier<? extends MemcacheClient<byte[]>> maker;
    private final BooleanSupplier threadHasEnded;
    private final ConnectionState link;
    private final Duration patience;
    private final ReentrantLock lock = new ReentrantLock();
    private final List<ConnectionChangeListener> listeners = new CopyOnWriteArrayList<>();
    private volatile MemcacheClient<byte[]> current;
    private boolean closed;

    private HealingClient(
            MemcacheClient<byte[]> first,
            Supplier<? extends MemcacheClient<byte[]>> maker,
            BooleanSupplier threadHasEnded,
            ConnectionState link,
            Duration patience) {
        this.current = first;
        this.maker = maker;
        this.threadHasEnded = threadHasEnded;
        this.link = link;
        this.patience = patience;
    }

    /**
     * Wraps a client.
     *
     * @param maker makes another client, without waiting for its connection
     * @param threadHasEnded whether the current client's thread has
     * @param link the state of the current client's connection
     * @param patience how long a connection may neither be there nor fail
     */
    @SuppressWarnings("unchecked")
    static MemcacheClient<byte[]> of(
            MemcacheClient<byte[]> first,
            Supplier<? extends MemcacheClient<byte[]>> maker,
            BooleanSupplier threadHasEnded,
            ConnectionState link,
            Duration patience) {
        return (MemcacheClient<byte[]>) Proxy.newProxyInstance(
                HealingClient.class.getClassLoader(),
                new Class<?>[] {MemcacheClient.class},
                new HealingClient(first, maker, threadHasEnded, link, patience));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] given) throws Throwable {
        switch (method.getName()) {
            case "registerForConnectionChanges" ->
                listeners.add((ConnectionChangeListener) Objects.requireNonNull(given)[0]);
            case "unregisterForConnectionChanges" ->
                listeners.remove((ConnectionChangeListener) Objects.requireNonNull(given)[0]);
            case "shutdown" -> close();
            default -> heal();
        }
        try {
            return method.invoke(current, given);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private void close() {
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
    }

    private boolean isSick() {
        return threadHasEnded.getAsBoolean() || link.isSilentFor(patience);
    }

    private void heal() {
        if (!isSick()) {
            return;
        }
        MemcacheClient<byte[]> former;
        lock.lock();
        try {
            if (closed || !isSick()) {
                return;
            }
            if (threadHasEnded.getAsBoolean()) {
                LOG.warn(
                        "the thread of the connection to memcached has ended, as after an OutOfMemoryError; the connection"
                                + " is replaced");
            }
            former = current;
            MemcacheClient<byte[]> next = maker.get();
            listeners.forEach(next::registerForConnectionChanges);
            current = next;
        } finally {
            lock.unlock();
        }
        // Nothing that was read on the former connection may be used on the next one.
        listeners.forEach(listener -> listener.connectionChanged(former));
        try {
            former.shutdown();
        } catch (RuntimeException e) {
            // Its thread has ended, and nothing closes the connection but the server.
        }
    }
}
