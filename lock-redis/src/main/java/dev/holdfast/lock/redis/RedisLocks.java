package dev.holdfast.lock.redis;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.redis.internal.backend.AcquireSender;
import dev.holdfast.lock.redis.internal.backend.RedisLockBackend;
import dev.holdfast.lock.redis.internal.backend.RedisSettings;
import dev.holdfast.lock.redis.internal.backend.ReplicaAcknowledgement;
import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.OwnedConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.connection.RedisSignals;
import dev.holdfast.lock.redis.internal.connection.RedisWaiters;
import dev.holdfast.lock.redis.internal.redlock.RedlockBackend;
import dev.holdfast.lock.redis.internal.replica.ReplicaAcquireSender;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.support.EarlyClasses;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Creates lock clients on Redis or Valkey from the application's own Lettuce client or connection, which the lock client
 * never closes.
 *
 * <pre>{@code
 * try (LockClient locks = RedisLocks.builder(redisClient).prefix("shop").build()) {
 *     locks.lock("orders/42").lock();
 * }
 * }</pre>
 *
 * <p>The given client should have {@code disconnectedBehavior(REJECT_COMMANDS)}: commands then fail at once while the
 * server is away, instead of after their time-out. Either is safe: a release that the client sends again after a reconnect
 * gets the answer that was lost, unless four others have released the lock meanwhile.
 */
public final class RedisLocks {
    /** Those that neither the start of a client nor its first lock initializes. */
    private static final String[] LATE_CLASSES = {
        "internal.backend.RedisHolders",
        "internal.connection.ShardSignals",
        "internal.replica.DegradedGrants",
        "internal.replica.ReplicaAcquireSender",
        "internal.replica.ReplicaAcquireSender$1",
        "internal.script.AttemptGenerations$Verdict",
        "internal.script.RedisDemandScripts",
    };

    private RedisLocks() {}

    /**
     * Starts from Lettuce's form of an address: a server, or a group that Sentinel watches. The lock client has its own
     * connections and threads, as with an address, and closes them. A {@code RedisURI} can express what a textual address cannot, above
     * all {@link RedisURI#setCredentialsProvider}: Lettuce calls the provider before each connection, so that a
     * password can change while locks are held.
     *
     * @param uri not changed; its time-out is not used
     * @return a builder
     */
    public static Builder builder(RedisURI uri) {
        Objects.requireNonNull(uri, "uri must not be null");
        return new Builder(
                timeout -> List.of(OwnedConnectionFactory.connect(
                        false, List.of(RedisURI.builder(uri).build()), timeout)),
                true,
                false);
    }

    /**
     * Starts from a client of a server, or of a group that Sentinel watches.
     *
     * @param client made with the server's URI; not closed by the lock client, which opens one connection, and a second
     *     one when it waits for the first time
     * @return a builder
     */
    public static Builder builder(RedisClient client) {
        return builder(ConnectionFactory.of(client));
    }

    /**
     * Starts from a client of a cluster.
     *
     * @param client not closed by the lock client, which opens one cluster connection, and a second one when it waits for
     *     the first time. It should have adaptive topology refresh triggers
     * @return a builder
     */
    public static Builder builder(RedisClusterClient client) {
        return builder(ConnectionFactory.of(client));
    }

    /**
     * Starts from an open connection to a server. Without a connection for subscriptions, waiters poll.
     *
     * @param connection not closed by the lock client; must not be used for transactions or blocking commands
     * @return a builder
     */
    public static Builder builder(StatefulRedisConnection<String, String> connection) {
        return builder(ConnectionFactory.of(connection, null));
    }

    /**
     * Starts from open connections to a server.
     *
     * @param connection not closed by the lock client; must not be used for transactions or blocking commands
     * @param pubSub for one subscription; closed by the lock client
     * @return a builder
     */
    public static Builder builder(
            StatefulRedisConnection<String, String> connection, StatefulRedisPubSubConnection<String, String> pubSub) {
        return builder(ConnectionFactory.of(connection, Objects.requireNonNull(pubSub, "pubSub must not be null")));
    }

    /**
     * Starts from an open connection to a cluster. Waiters poll.
     *
     * @param connection not closed by the lock client
     * @return a builder
     */
    public static Builder builder(StatefulRedisClusterConnection<String, String> connection) {
        return builder(ConnectionFactory.of(connection, null));
    }

    /**
     * Starts from the clients of several independent masters, which vote: the Redlock algorithm. A lock is held if a
     * majority of the masters granted it. It survives the loss of a minority of them, and costs a command to each.
     *
     * <p>It is not safer than one master with fencing tokens against pauses of the holder, and it counts on the masters'
     * clocks and on masters that do not come back empty sooner than a lease: docs/redis.md has the debate. Waiters have no
     * common order, so {@code fair} is refused.
     *
     * @param clients at least three, each made with the URI of its master, none of them a replica of another; not closed
     *     by the lock client
     * @return a builder
     * @throws IllegalArgumentException if there are fewer than three or more than 31
     */
    public static Builder redlock(Collection<RedisClient> clients) {
        return redlockOf(clients.stream().map(ConnectionFactory::of).toList());
    }

    static Builder redlockOf(List<ConnectionFactory> masters) {
        if (masters.size() < 3 || masters.size() > 31) {
            throw new IllegalArgumentException(
                    "Redlock needs from 3 to 31 independent masters, got " + masters.size() + "; 5 are usual");
        }
        return new Builder(timeout -> masters, masters.stream().allMatch(ConnectionFactory::connects), true);
    }

    static Builder builder(ConnectionFactory factory) {
        return new Builder(timeout -> List.of(factory), factory.connects(), false);
    }

    /**
     * Returns the Lua scripts that the library runs. A user with the permission for EVALSHA, but not for EVAL, needs them
     * to be loaded with SCRIPT LOAD, into every server that is or may become a master, after each start of it and after
     * each upgrade of this library.
     *
     * @return their texts
     */
    public static List<String> scripts() {
        return Stream.concat(RedisScript.ALL.stream(), RedisDemandScripts.ALL.stream())
                .map(RedisScript::body)
                .toList();
    }

    /** Builds a {@link LockClient}; each value may be set once. Not thread-safe. */
    public static final class Builder {
        private static final Duration TOKEN_MEMORY = Duration.ofMinutes(5);

        private final Function<Duration, List<ConnectionFactory>> sources;
        private final boolean connects;
        private final boolean redlock;
        private @Nullable LockClientOptions options;
        private @Nullable String prefix;
        private @Nullable Duration tokenMemory;
        private @Nullable Duration pollFirst;
        private @Nullable Duration pollLongest;
        private @Nullable ReplicaAcknowledgement replicas;

        private Builder(Function<Duration, List<ConnectionFactory>> sources, boolean connects, boolean redlock) {
            this.sources = sources;
            this.connects = connects;
            this.redlock = redlock;
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
         * Sets the first part of all keys and channels; by default {@code holdfast}. Locks of different prefixes are
         * different locks.
         *
         * @param prefix 1 to 128 characters of {@code A-Z a-z 0-9 _ . : / -}
         * @return this
         * @throws IllegalArgumentException if it has others
         * @throws IllegalStateException if already set
         */
        public Builder prefix(String prefix) {
            this.prefix = once("prefix", this.prefix, RedisKeys.requirePrefix(prefix));
            return this;
        }

        /**
         * Lets waiters poll instead of being notified, for servers that do not allow publish and subscribe. Waiters of
         * this client do not queue, and {@code fair} is refused.
         *
         * @param first how soon a busy lock is tried again for the first time; then the wait doubles, with jitter
         * @param longest the longest wait between two tries
         * @return this
         * @throws IllegalArgumentException if shorter than a millisecond, or {@code longest} is shorter than {@code first}
         * @throws IllegalStateException if already set
         */
        public Builder polling(Duration first, Duration longest) {
            if (first.toMillis() < 1 || longest.compareTo(first) < 0) {
                throw new IllegalArgumentException("polling from " + first + " to " + longest
                        + " is not possible; the first is at least 1 ms, the longest not shorter");
            }
            pollFirst = once("polling", pollFirst, first);
            pollLongest = longest;
            return this;
        }

        /**
         * Sets how long the server keeps a lock's last token after its lease ended; by default five minutes. It
         * matters only if the clock goes back, or another server with a slower clock takes over: tokens come from the
         * server's clock, and never fall below one that is remembered. So it should be longer than clocks can be apart.
         *
         * @param tokenMemory at least one second
         * @return this
         * @throws IllegalArgumentException if shorter
         * @throws IllegalStateException if already set
         */
        public Builder tokenMemory(Duration tokenMemory) {
            if (tokenMemory.toMillis() < 1_000) {
                throw new IllegalArgumentException("tokenMemory must be at least one second, got " + tokenMemory);
            }
            this.tokenMemory = once("tokenMemory", this.tokenMemory, tokenMemory);
            return this;
        }

        /**
         * Requires that replicas acknowledge a grant before it counts, with WAIT in the same round trip. This narrows the
         * window in which a failover loses a grant, but does not close it: Redis does not promise to promote a replica
         * that has it. Renewals and releases do not wait. Attempts get connections of their own, up to 16, because WAIT
         * blocks a connection; further attempts go together over the one that is free next.
         *
         * @param minimum the least number of replicas
         * @param timeout how long they are waited for, counted from when the attempt was made: the most that hung replicas
         *     can add to an acquisition; below {@link LockClientOptions#requestTimeout()}. More than twice what the replicas
         *     usually need, so that an attempt that first waits for a connection has enough left
         * @param policy what happens if there are fewer
         * @return this
         * @throws IllegalArgumentException if {@code minimum} is below one or {@code timeout} below one millisecond
         * @throws IllegalStateException if already set, or the builder started from a connection
         */
        public Builder replicas(int minimum, Duration timeout, ReplicaPolicy policy) {
            if (minimum < 1 || timeout.toMillis() < 1) {
                throw new IllegalArgumentException("cannot wait " + timeout + " for " + minimum
                        + " replicas; give at least one replica and one millisecond");
            }
            if (!connects) {
                throw new IllegalStateException(
                        "replicas are waited for on connections of their own; start the builder from a client");
            }
            replicas = once(
                    "replicas",
                    replicas,
                    new ReplicaAcknowledgement(
                            minimum, timeout.toMillis(), Objects.requireNonNull(policy, "policy must not be null")));
            return this;
        }

        /**
         * Connects.
         *
         * @return an open client
         * @throws LockConfigurationException if the server refuses the credentials, or the user lacks a permission
         * @throws LockUnavailableException if the server cannot be reached
         */
        public LockClient build() {
            LockClientOptions chosen = options == null ? LockClientOptions.defaults() : options;
            LockBackend backend = backend();
            if (backend instanceof RedisLockBackend redis) {
                try {
                    redis.requireRights(chosen.requestTimeout().toMillis());
                } catch (RuntimeException e) {
                    redis.close();
                    throw e;
                }
            }
            return LockEngine.client(backend, chosen);
        }

        /** Connects, without the engine. */
        LockBackend backend() {
            EarlyClasses.initialize(RedisLocks.class, LATE_CLASSES);
            LockClientOptions chosen = options == null ? LockClientOptions.defaults() : options;
            List<ConnectionFactory> opened = sources.apply(chosen.requestTimeout());
            RedisSettings settings = new RedisSettings(
                    prefix == null ? "holdfast" : prefix,
                    (tokenMemory == null ? TOKEN_MEMORY : tokenMemory).toMillis(),
                    pollFirst == null && opened.stream().allMatch(ConnectionFactory::subscribes),
                    redlock,
                    pollFirst == null ? 50 : pollFirst.toMillis(),
                    pollLongest == null ? 1_000 : pollLongest.toMillis(),
                    replicas);
            return redlock
                    ? RedlockBackend.connect(opened, settings, RedisLocks::connect)
                    : connect(opened.get(0), settings);
        }

        private static <T> T once(String what, @Nullable T before, T value) {
            Objects.requireNonNull(value, what + " must not be null");
            if (before != null) {
                throw new IllegalStateException(what + " was already set to " + before);
            }
            return value;
        }
    }

    /** Connects to one server, group or cluster. */
    static RedisLockBackend connect(ConnectionFactory factory, RedisSettings settings) {
        try {
            RedisCalls calls = new RedisCalls(factory);
            RedisWaiters waiters = new RedisWaiters();
            RedisSignals signals =
                    settings.notified() ? factory.signals(settings.prefix(), waiters, calls.link()) : RedisSignals.NONE;
            ReplicaAcknowledgement replicas = settings.replicas();
            AcquireSender sender = replicas == null
                    ? (attempt, timeoutMillis) ->
                            calls.script(attempt.script(), attempt.scriptKeys(), attempt.args(), timeoutMillis)
                    : new ReplicaAcquireSender(factory, calls, replicas, settings.memoryMillis());
            return new RedisLockBackend(settings, factory.cluster(), calls, sender, waiters, signals, () -> {
                calls.close();
                factory.close();
                factory.awaitEnd();
            });
        } catch (RuntimeException | LinkageError e) {
            RuntimeException explained = factory.explain(e);
            factory.close();
            throw explained;
        }
    }
}
