package dev.holdfast.lock.memcached;

import com.spotify.folsom.MemcacheClient;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.LockBackend;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Creates lock clients on memcached from the application's own Folsom client, which the lock client never closes.
 *
 * <pre>{@code
 * MemcacheClient<byte[]> memcached = MemcacheClientBuilder.newByteArrayClient()
 *     .withAddress("cache-1", 11211)
 *     .withRetry(false)
 *     .connectAscii();
 * try (LockClient locks = MemcachedLocks.builder(memcached).prefix("shop").build()) {
 *     locks.lock("orders/42").lock();
 * }
 * }</pre>
 *
 * <p>The given client must have one server and one connection: with several servers, a lock would move to another one
 * while its own is away, and have two holders. It should have {@code withRetry(false)}, since a request that the client
 * repeats by itself may acquire a lock that has been abandoned; the lock then stays held for its lease.
 */
public final class MemcachedLocks {
    static final String PREFIX = "holdfast";

    private MemcachedLocks() {}

    /**
     * Starts from a client.
     *
     * @param client of one server, with one connection, for byte arrays; not closed by the lock client
     * @return a builder
     * @throws IllegalArgumentException if it has several connections
     */
    public static Builder builder(MemcacheClient<byte[]> client) {
        Objects.requireNonNull(client, "client must not be null");
        if (client.numTotalConnections() > 1) {
            throw new IllegalArgumentException("the client has " + client.numTotalConnections()
                    + " connections; locks need a client of one server with one connection");
        }
        return new Builder(client);
    }

    static LockClient connect(MemcachedUri address, LockClientOptions options) {
        return LockEngine.client(backend(address, options.requestTimeout()), options);
    }

    /** Connects, without the engine. */
    static LockBackend backend(MemcachedUri address, Duration timeout) {
        OwnedClient owned = OwnedClient.connect(address, timeout);
        return new MemcachedLockBackend(
                owned.client(), new MemcachedKeys(address.prefix()), owned.failures(), owned::close);
    }

    /** Builds a {@link LockClient}; each value may be set once. Not thread-safe. */
    public static final class Builder {
        private final MemcacheClient<byte[]> client;
        private @Nullable LockClientOptions options;
        private @Nullable String prefix;

        private Builder(MemcacheClient<byte[]> client) {
            this.client = client;
        }

        /**
         * Sets the client's options; by default {@link LockClientOptions#defaults()}.
         *
         * @param options the options
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder options(LockClientOptions options) {
            this.options = once("options", this.options, options);
            return this;
        }

        /**
         * Sets the first part of all keys; by default {@code holdfast}. Locks of different prefixes are different locks.
         *
         * @param prefix 1 to 128 characters of {@code A-Z a-z 0-9 _ . : / -}
         * @return this
         * @throws IllegalArgumentException if it has others
         * @throws IllegalStateException if already set
         */
        public Builder prefix(String prefix) {
            this.prefix = once("prefix", this.prefix, new MemcachedKeys(prefix).prefix());
            return this;
        }

        /**
         * Creates the lock client. It sends no request yet.
         *
         * @return an open client
         */
        public LockClient build() {
            return LockEngine.client(backend(), options == null ? LockClientOptions.defaults() : options);
        }

        LockBackend backend() {
            MemcachedKeys keys = new MemcachedKeys(prefix == null ? PREFIX : prefix);
            return new MemcachedLockBackend(client, keys, MemcachedFailures.of("memcached", new Link()), () -> {});
        }

        private static <T> T once(String what, @Nullable T before, T value) {
            Objects.requireNonNull(value, what + " must not be null");
            if (before != null) {
                throw new IllegalStateException(what + " was already set to " + before);
            }
            return value;
        }
    }
}
