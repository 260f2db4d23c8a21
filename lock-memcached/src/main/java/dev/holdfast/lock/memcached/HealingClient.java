package dev.holdfast.lock.memcached;

import com.spotify.folsom.ConnectionChangeListener;
import com.spotify.folsom.MemcacheClient;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A client that is replaced by a new one when it neither connects nor fails in time. Folsom 1.21 waits forever if a new
 * connection is reset before anything was sent over it. Requests look for that, so an idle client costs nothing.
 * Thread-safe.
 */
final class HealingClient implements InvocationHandler {
    private final Supplier<? extends MemcacheClient<byte[]>> maker;
    private final ConnectionState link;
    private final Duration patience;
    private final ReentrantLock lock = new ReentrantLock();
    private final List<ConnectionChangeListener> listeners = new CopyOnWriteArrayList<>();
    private volatile MemcacheClient<byte[]> current;
    private boolean closed;

    private HealingClient(
            MemcacheClient<byte[]> first,
            Supplier<? extends MemcacheClient<byte[]>> maker,
            ConnectionState link,
            Duration patience) {
        this.current = first;
        this.maker = maker;
        this.link = link;
        this.patience = patience;
    }

    /**
     * Wraps a client.
     *
     * @param maker makes another client, without waiting for its connection
     * @param link the state of the current client's connection
     * @param patience how long a connection may neither be there nor fail
     */
    @SuppressWarnings("unchecked")
    static MemcacheClient<byte[]> of(
            MemcacheClient<byte[]> first,
            Supplier<? extends MemcacheClient<byte[]>> maker,
            ConnectionState link,
            Duration patience) {
        return (MemcacheClient<byte[]>) Proxy.newProxyInstance(
                HealingClient.class.getClassLoader(),
                new Class<?>[] {MemcacheClient.class},
                new HealingClient(first, maker, link, patience));
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

    private void heal() {
        if (!link.isSilentFor(patience)) {
            return;
        }
        MemcacheClient<byte[]> former;
        lock.lock();
        try {
            if (closed || !link.isSilentFor(patience)) {
                return;
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
        former.shutdown();
    }
}
