package dev.holdfast.lock.etcd;

import com.google.common.util.concurrent.MoreExecutors;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.client.DeadlineInterceptor;
import dev.holdfast.lock.etcd.internal.client.DirectExecutorInterceptor;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.WatchSharing;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.support.EarlyClasses;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Creates lock clients on etcd from the application's own jetcd client, which the lock client never closes.
 *
 * <pre>{@code
 * Client etcd = EtcdLocks.recommended(Client.builder().endpoints("http://n1:2379", "http://n2:2379", "http://n3:2379"))
 *     .build();
 * try (LockClient locks = EtcdLocks.builder(etcd).prefix("shop/locks/").build()) {
 *     locks.lock("orders/42").lock();
 * }
 * }</pre>
 *
 * <p>The lock client copes with any settings of the given client. {@link #recommended} has those that let it notice
 * trouble early and leave no calls behind.
 */
public final class EtcdLocks {
    /** The default prefix of keys. */
    public static final String DEFAULT_PREFIX = "holdfast/";

    /** Those that neither the start of a client nor its first lock initializes. */
    private static final String[] LATE_CLASSES = {
        "internal.acquisition.PermitWatch",
        "internal.acquisition.PredecessorTicket",
        "internal.client.EtcdFailures$1",
        "internal.client.OwnChannel",
        "internal.queue.WaiterPoll",
    };

    private EtcdLocks() {}

    /**
     * Starts from a client.
     *
     * @param client not closed by the lock client, which has one thread of its own
     * @return a builder
     */
    public static Builder builder(Client client) {
        Objects.requireNonNull(client, "client must not be null");
        return new Builder(new EtcdConnection(client, () -> {}));
    }

    static Builder builder(EtcdConnection connection) {
        return new Builder(connection);
    }

    /**
     * Sets what suits locks on the builder of a jetcd client: calls that cannot be sent fail at once instead of waiting
     * for a server without limit; every call but a watch ends after 10 s; a dead connection is detected after 13 s; jetcd
     * repeats nothing by itself; the watches of a lock client share one HTTP/2 stream. The lock client repeats a call of its own once if etcd refuses its token, because that
     * has expired or users have changed; the application has to do that for its calls.
     *
     * @param builder with endpoints, and credentials if needed
     * @return the same builder
     */
    public static ClientBuilder recommended(ClientBuilder builder) {
        return recommended(builder, Duration.ofSeconds(10));
    }

    static ClientBuilder recommended(ClientBuilder builder, Duration callTimeout) {
        return settings(builder).interceptor(new DeadlineInterceptor(callTimeout));
    }

    private static ClientBuilder settings(ClientBuilder builder) {
        return builder.interceptor(new WatchSharing())
                .waitForReady(false)
                .retryMaxAttempts(0)
                .retryDelay(50)
                .connectTimeout(Duration.ofSeconds(3))
                .keepaliveTime(Duration.ofSeconds(10))
                .keepaliveTimeout(Duration.ofSeconds(3))
                .keepaliveWithoutCalls(false);
    }

    /**
     * Makes a jetcd client log in with the current credentials, so that a password or a user can change while locks are
     * held. It takes the place of the builder's own {@code user} and {@code password}.
     *
     * <pre>{@code
     * Client etcd = EtcdLocks.authenticated(EtcdLocks.recommended(Client.builder().endpoints("https://n1:2379")),
     *                 () -> new EtcdCredentials("locker", secrets.current("etcd")))
     *         .build();
     * }</pre>
     *
     * <p>The supplier is asked at each login: at first, and when etcd does not accept the token any more. A refused login is
     * repeated with other credentials at once, with the same after a pause of up to 2 s; calls fail meanwhile with what
     * etcd said.
     *
     * @param builder with endpoints, without user and password
     * @param credentials asked on any thread; must be thread-safe and must not block
     * @return the same builder
     */
    public static ClientBuilder authenticated(ClientBuilder builder, Supplier<EtcdCredentials> credentials) {
        return builder.interceptor(new Authentication(Objects.requireNonNull(credentials, "credentials")));
    }

    /** The same, for a client that serves locks only: see {@link DirectExecutorInterceptor} and {@link DeadlineInterceptor}. */
    static ClientBuilder dedicated(ClientBuilder builder, Duration callTimeout) {
        return settings(builder)
                .interceptor(new DeadlineInterceptor(callTimeout))
                .interceptor(new DirectExecutorInterceptor())
                .executorService(MoreExecutors.newDirectExecutorService());
    }

    /**
     * Returns a comparison that is true while the lease's grant holds the lock, for guarding the application's own etcd
     * transactions: in {@code If}, it makes the server refuse a stale holder's writes, without any clock.
     *
     * <pre>{@code
     * etcd.getKVClient().txn().If(EtcdLocks.ownership(lease)).Then(Op.put(key, value, PutOption.DEFAULT)).commit();
     * }</pre>
     *
     * <p>The transaction must go to the same cluster, by a client with the same namespace. The comparison stays true
     * when the lock is handed from thread to thread within this process: it distinguishes processes, not threads.
     *
     * @param lease a lease of a client on etcd
     * @return the comparison; false on the server as soon as the lock is released, expired or deleted
     * @throws IllegalArgumentException if the lease is not of a client on etcd
     */
    public static Cmp ownership(Lease lease) {
        Grant grant = LockEngine.grant(lease);
        EtcdAcquisition acquisition = EtcdAcquisition.of(grant);
        if (acquisition == null) {
            throw new IllegalArgumentException("lock '" + lease.name() + "' is not held in etcd");
        }
        return new Cmp(acquisition.key(), Cmp.Op.EQUAL, CmpTarget.createRevision(grant.token()));
    }

    /** Builds a {@link LockClient}; each value may be set once. Not thread-safe. */
    public static final class Builder {
        private final EtcdConnection connection;
        private @Nullable LockClientOptions options;
        private @Nullable String prefix;
        private @Nullable EtcdMode mode;

        private Builder(EtcdConnection connection) {
            this.connection = connection;
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
         * Sets what all keys begin with; by default {@code holdfast/}. Locks of different prefixes are different locks,
         * even if one prefix begins with the other. A user with permission to read and write this prefix needs no other.
         *
         * @param prefix 1 to 128 characters, the last of them {@code /}, none of them {@code ~} or a control character
         * @return this
         * @throws IllegalArgumentException if it is otherwise
         * @throws IllegalStateException if already set
         */
        public Builder prefix(String prefix) {
            this.prefix = once("prefix", this.prefix, new EtcdKeys(prefix).prefix());
            return this;
        }

        /**
         * Sets the layout of locks in etcd; by default {@link EtcdMode#QUEUE}. All clients of a prefix must agree on it.
         *
         * @param mode the mode
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder mode(EtcdMode mode) {
            this.mode = once("mode", this.mode, mode);
            return this;
        }

        /**
         * Creates the client. It sends nothing to the server yet.
         *
         * @return an open client
         */
        public LockClient build() {
            return LockEngine.client(backend(), options());
        }

        private LockClientOptions options() {
            return options == null ? LockClientOptions.defaults() : options;
        }

        /** Creates the backend without the engine. */
        LockBackend backend() {
            EarlyClasses.initialize(EtcdLocks.class, LATE_CLASSES);
            return new EtcdLockBackend(
                    connection,
                    prefix == null ? DEFAULT_PREFIX : prefix,
                    mode == null ? EtcdMode.QUEUE : mode,
                    options().requestTimeout());
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
