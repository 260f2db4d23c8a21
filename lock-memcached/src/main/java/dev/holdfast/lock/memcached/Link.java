package dev.holdfast.lock.memcached;

import com.spotify.folsom.MemcacheAuthenticationException;
import com.spotify.folsom.guava.HostAndPort;
import com.spotify.folsom.reconnect.ReconnectionListener;
import dev.holdfast.lock.spi.FailureTranslator;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The state of the connection as the client reports it, for messages and for the caller that waits for the first
 * connection. Thread-safe.
 */
final class Link implements ReconnectionListener {
    private static final Logger log = LoggerFactory.getLogger(Link.class);

    private final CompletableFuture<Void> first = new CompletableFuture<>();
    private volatile @Nullable Throwable lastFailure;
    private volatile boolean refused;

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
        first.completeExceptionally(cause);
    }

    @Override
    public void reconnectionCancelled() {}

    @Override
    public void reconnectionSuccessful(HostAndPort address, int attempt, boolean willStayConnected) {
        lastFailure = null;
        first.complete(null);
    }

    @Override
    public void connectionLost(@Nullable Throwable cause, HostAndPort address) {
        log.debug("the connection to memcached has ended; making another one");
    }

    @Override
    public void reconnectionQueuedFromError(Throwable cause, HostAndPort address, long backOffMillis, int attempt) {
        log.debug("no connection to memcached; trying again in {} ms", backOffMillis);
    }
}
