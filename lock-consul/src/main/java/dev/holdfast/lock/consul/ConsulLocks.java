package dev.holdfast.lock.consul;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.consul.internal.acquisition.ConsulLockBackend;
import dev.holdfast.lock.consul.internal.http.ConsulConnection;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Creates lock clients on Consul from the application's own HTTP client, which the lock client never closes.
 *
 * <pre>{@code
 * HttpClient http = HttpClient.newHttpClient();
 * try (LockClient locks = ConsulLocks.builder(http, URI.create("http://127.0.0.1:8500")).prefix("shop/locks/").build()) {
 *     locks.lock("orders/42").lock();
 * }
 * }</pre>
 */
public final class ConsulLocks {
    /** The default start of all keys. */
    static final String DEFAULT_PREFIX = "holdfast/";

    private static final Duration MAX_LOCK_DELAY = Duration.ofSeconds(60);
    private static final Duration DEFAULT_SESSION_TTL_MIN = Duration.ofSeconds(10);

    private ConsulLocks() {}

    /**
     * Starts from an HTTP client and the agents' addresses.
     *
     * @param client not closed by the lock client; its executor runs short, non-blocking code only
     * @param agents one or more agents of one cluster, such as {@code http://127.0.0.1:8500}, without a path; if an
     *     agent does not answer, requests go to the next one
     * @return a builder
     * @throws IllegalArgumentException if there is no address, or an address is not http or https, or has more than
     *     host and port
     */
    public static Builder builder(HttpClient client, URI... agents) {
        Objects.requireNonNull(client, "client must not be null");
        if (agents.length == 0) {
            throw new IllegalArgumentException("no agent is given; name one, such as http://127.0.0.1:8500");
        }
        for (URI agent : agents) {
            boolean http = "http".equals(agent.getScheme()) || "https".equals(agent.getScheme());
            boolean more = agent.getRawUserInfo() != null
                    || agent.getRawQuery() != null
                    || agent.getRawFragment() != null
                    || agent.getRawPath() == null
                    || !agent.getRawPath().isEmpty();
            if (!http || agent.getHost() == null || more) {
                throw new IllegalArgumentException(
                        "an agent's address is not like http://127.0.0.1:8500, with http or https, host and port alone");
            }
        }
        return new Builder(new ConsulConnection(client, List.of(agents), null, () -> {}));
    }

    static Builder builder(ConsulConnection connection) {
        return new Builder(connection);
    }

    /** Builds a {@link LockClient}; each value may be set once. Not thread-safe. */
    public static final class Builder {
        private final ConsulConnection connection;
        private @Nullable Supplier<String> token;
        private @Nullable LockClientOptions options;
        private @Nullable String prefix;
        private @Nullable String datacenter;
        private @Nullable Duration lockDelay;
        private @Nullable Duration sessionTtlMin;

        private Builder(ConsulConnection connection) {
            this.connection = connection;
            this.token = connection.token();
            this.datacenter = connection.datacenter();
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
         * Sets the source of the ACL token; by default no token is sent. The token needs the rules {@code key_prefix}
         * with the prefix and {@code session_prefix ""}, both with policy {@code write}, and no other.
         *
         * @param token called for each request, on any thread, so that the token can change; must be thread-safe and
         *     must not block
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder token(Supplier<String> token) {
            Objects.requireNonNull(token, "token must not be null");
            if (this.token != null) {
                throw new IllegalStateException("token was already set");
            }
            this.token = token;
            return this;
        }

        /**
         * Sets the start of all keys; by default {@code holdfast/}. Locks of different prefixes are different locks.
         *
         * @param prefix 2 to 128 characters of ASCII, the last of them {@code /}; no blanks, no {@code ~}, no empty
         *     parts
         * @return this
         * @throws IllegalArgumentException if the prefix is invalid
         * @throws IllegalStateException if already set
         */
        public Builder prefix(String prefix) {
            this.prefix = once("prefix", this.prefix, new ConsulKeys(prefix).prefix());
            return this;
        }

        /**
         * Sets the datacenter whose locks are meant; by default that of the agent. Each datacenter has locks of its own,
         * so an agent of another one would grant a lock that is held here. With a name, such an agent refuses.
         *
         * @param datacenter the name of the agents' datacenter: 1 to 128 characters of {@code A-Z a-z 0-9 _ -}
         * @return this
         * @throws IllegalArgumentException if it has others
         * @throws IllegalStateException if already set
         */
        public Builder datacenter(String datacenter) {
            Objects.requireNonNull(datacenter, "datacenter must not be null");
            if (!ConsulConnection.isDatacenter(datacenter)) {
                throw new IllegalArgumentException("datacenter '" + LockName.printable(datacenter)
                        + "' does not have 1 to 128 characters of A-Z a-z 0-9 _ -");
            }
            this.datacenter = once("datacenter", this.datacenter, datacenter);
            return this;
        }

        /**
         * Sets how long Consul refuses a lock to other clients after the holder's session has ended without a release:
         * by its TTL, by an operator, or because the agent's node has left. The default is the lease, at most 60 s.
         * Then a holder whose session was ended early has noticed that, or its lease has ended, before the next client
         * is granted the lock. The exception is an attempt that is being committed at that moment, see docs/consul.md.
         *
         * <p>A shorter delay frees the locks of crashed holders earlier, and is safe if nothing but the TTL ends
         * sessions. A release has no lock-delay.
         *
         * @param lockDelay from 0 to 60 s
         * @return this
         * @throws IllegalArgumentException if the delay is outside this range
         * @throws IllegalStateException if already set
         */
        public Builder lockDelay(Duration lockDelay) {
            Objects.requireNonNull(lockDelay, "lockDelay must not be null");
            if (lockDelay.isNegative() || lockDelay.compareTo(MAX_LOCK_DELAY) > 0) {
                throw new IllegalArgumentException("lockDelay " + lockDelay + " is not from 0 to 60 s");
            }
            this.lockDelay = once("lockDelay", this.lockDelay, lockDelay);
            return this;
        }

        /**
         * Sets the shortest TTL that the servers accept, which is the shortest lease; by default 10 s, like Consul's
         * own default. Set it if {@code session_ttl_min} is set in the configuration of the servers.
         *
         * @param sessionTtlMin at least 1 ms, at most 24 h
         * @return this
         * @throws IllegalArgumentException if the value is outside this range
         * @throws IllegalStateException if already set
         */
        public Builder sessionTtlMin(Duration sessionTtlMin) {
            Objects.requireNonNull(sessionTtlMin, "sessionTtlMin must not be null");
            if (sessionTtlMin.compareTo(Duration.ofMillis(1)) < 0
                    || sessionTtlMin.compareTo(Duration.ofHours(24)) > 0) {
                throw new IllegalArgumentException("sessionTtlMin " + sessionTtlMin + " is not from 1 ms to 24 h");
            }
            this.sessionTtlMin = once("sessionTtlMin", this.sessionTtlMin, sessionTtlMin);
            return this;
        }

        /**
         * Creates the client. It sends no request yet.
         *
         * @return an open client
         * @throws IllegalArgumentException if the default lease is shorter than the shortest TTL, or the default
         *     options ask for strict order, which Consul does not offer
         */
        public LockClient build() {
            return LockEngine.client(backend(), options == null ? LockClientOptions.defaults() : options);
        }

        /** Creates the backend, without the engine. */
        LockBackend backend() {
            return new ConsulLockBackend(
                    new ConsulConnection(
                            connection.client(),
                            connection.renewals(),
                            connection.agents(),
                            token,
                            datacenter,
                            connection.closer()),
                    new ConsulKeys(prefix == null ? DEFAULT_PREFIX : prefix),
                    sessionTtlMin == null ? DEFAULT_SESSION_TTL_MIN : sessionTtlMin,
                    lockDelay);
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
