package dev.holdfast.lock.memcached;

import com.spotify.folsom.MemcacheAuthenticationException;
import com.spotify.folsom.guava.HostAndPort;
import com.spotify.folsom.reconnect.ReconnectionListener;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The state of the connection as the client reports it, for messages and for the caller that waits for the first
 * connection. Thread-safe.
 */
final class ConnectionState implements ReconnectionListener {
    private static final BackgroundLog log = BackgroundLog.of(ConnectionState.class);

    private final CompletableFuture<Void> first = new CompletableFuture<>();
    private volatile @Nullable Throwable lastFailure;
    private volatile boolean refused;
    private final LongSupplier nanos;
    /** When the client last reported anything but a connection; null while it has one. */
    private volatile @Nullable Long silentSinceNanos;

    private volatile @Nullable ReconnectionListener current;

    ConnectionState() {
        this(System::nanoTime);
    }

    ConnectionState(LongSupplier nanos) {
        this.nanos = nanos;
    }

    /** The listener for a new client; the reports of former clients are ignored from now on. */
    ReconnectionListener ofNewClient() {
        ReconnectionListener listener = new OfOneClient();
        current = listener;
        silentSinceNanos = nanos.getAsLong();
        return listener;
    }

    /** Whether the client has no connection, and has reported neither a success nor a failure for that time. */
    boolean isSilentFor(Duration patience) {
        Long since = silentSinceNanos;
        return since != null && !refused && nanos.getAsLong() - since > patience.toNanos();
    }

    /** Completes with the first connection, or fails with the first failure. */
    CompletableFuture<Void> first() {
        return first;
    }

    /** The reason why there is no connection, or null if there is one. */
    @Nullable Throwable lastFailure() {
        return lastFailure;
    }

    /** Whether the server refused the login: then the client does not retry. */
    boolean refused() {
        return refused;
    }

    @Override
    public void connectionFailure(Throwable failure) {
        Throwable cause = FailureTranslator.unwrap(failure);
        lastFailure = cause;
        refused = cause instanceof MemcacheAuthenticationException;
        silentSinceNanos = nanos.getAsLong();
        first.completeExceptionally(cause);
    }

    @Override
    public void reconnectionCancelled() {}

    @Override
    public void reconnectionSuccessful(HostAndPort address, int attempt, boolean willStayConnected) {
        lastFailure = null;
        silentSinceNanos = null;
        first.complete(null);
    }

    @Override
    public void connectionLost(@Nullable Throwable cause, HostAndPort address) {
        silentSinceNanos = nanos.getAsLong();
        log.debug("the connection to memcached has ended; making another one");
    }

    @Override
    public void reconnectionQueuedFromError(Throwable cause, HostAndPort address, long backOffMillis, int attempt) {
        silentSinceNanos = nanos.getAsLong() + TimeUnit.MILLISECONDS.toNanos(backOffMillis);
        log.debug("no connection to memcached; trying again in {} ms", backOffMillis);
    }

    /** Reports of one client, while it is the current one. */
    private final class OfOneClient implements ReconnectionListener {
        private void report(Consumer<ReconnectionListener> event) {
            if (current == this) {
                event.accept(ConnectionState.this);
            }
        }

        @Override
        public void connectionFailure(Throwable failure) {
            report(state -> state.connectionFailure(failure));
        }

        @Override
        public void reconnectionCancelled() {}

        @Override
        public void reconnectionSuccessful(HostAndPort address, int attempt, boolean willStayConnected) {
            report(state -> state.reconnectionSuccessful(address, attempt, willStayConnected));
        }

        @Override
        public void connectionLost(@Nullable Throwable cause, HostAndPort address) {
            report(state -> state.connectionLost(cause, address));
        }

        @Override
        public void reconnectionQueuedFromError(Throwable cause, HostAndPort address, long backOffMillis, int attempt) {
            report(state -> state.reconnectionQueuedFromError(cause, address, backOffMillis, attempt));
        }
    }
}
