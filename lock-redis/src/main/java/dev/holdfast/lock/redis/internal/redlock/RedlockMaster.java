package dev.holdfast.lock.redis.internal.redlock;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.internal.backend.RedisLockBackend;
import dev.holdfast.lock.redis.internal.connection.BorrowedConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.spi.support.ClientThreads;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** One of the masters that vote. If it cannot be reached at first, it is tried again when it is needed. Thread-safe. */
final class RedlockMaster {
    private static final long RETRY_NANOS = 1_000_000_000L;

    private final ConnectionFactory factory;
    private final Function<ConnectionFactory, RedisLockBackend> opener;
    private final AtomicBoolean connecting = new AtomicBoolean();
    private volatile @Nullable RedisLockBackend backend;
    private volatile long triedNanos = System.nanoTime();
    private volatile boolean closed;

    RedlockMaster(ConnectionFactory factory, Function<ConnectionFactory, RedisLockBackend> opener) {
        this.factory = factory;
        this.opener = opener;
    }

    /** Connects; blocks. */
    void connect() {
        RedisLockBackend opened = opener.apply(keptOpen());
        backend = opened;
        if (closed) {
            opened.close();
        }
    }

    @Nullable RedisLockBackend connected() {
        return backend;
    }

    <T> CompletionStage<T> call(Function<RedisLockBackend, CompletionStage<T>> request) {
        RedisLockBackend open = backend;
        if (open != null) {
            return request.apply(open);
        }
        if (!closed && System.nanoTime() - triedNanos > RETRY_NANOS && connecting.compareAndSet(false, true)) {
            ClientThreads.start("holdfast-redis-connect", this::connectAgain, () -> connecting.set(false));
        }
        return CompletableFuture.failedStage(new LockUnavailableException(
                "Redlock master: it could not be reached yet and is tried again; start it, or check its address"));
    }

    private void connectAgain() {
        try {
            if (backend == null) {
                connect();
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            // The requests that need it say so.
        } finally {
            triedNanos = System.nanoTime();
            connecting.set(false);
        }
    }

    /** The factory, which a failed connection must not end. */
    private ConnectionFactory keptOpen() {
        return new BorrowedConnectionFactory(factory);
    }

    void close() {
        closed = true;
        RedisLockBackend open = backend;
        if (open != null) {
            open.close();
        }
        factory.close();
    }
}
