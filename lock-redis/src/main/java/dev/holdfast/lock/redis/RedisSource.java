package dev.holdfast.lock.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import org.jspecify.annotations.Nullable;

/** Where connections come from: a client or a connection, of a server or a cluster. */
interface RedisSource {

    /**
     * One open connection.
     *
     * @param commands its commands
     * @param lookForMaster drops the connection, so that the client connects anew
     * @param connection the connection, to be closed; null if it is the user's
     */
    record Link(
            RedisClusterAsyncCommands<String, String> commands,
            Runnable lookForMaster,
            @Nullable StatefulConnection<String, String> connection) {

        static Link owned(StatefulRedisConnection<String, String> connection) {
            RedisAsyncCommands<String, String> commands = connection.async();
            return new Link(commands, commands::quit, connection);
        }

        static Link owned(StatefulRedisClusterConnection<String, String> connection) {
            return new Link(connection.async(), () -> {}, connection);
        }
    }

    /** Tells whether keys must be sent slot by slot. */
    boolean cluster();

    /** Connects; blocks, fails with the client's own exceptions. */
    Link connect();

    /** Connects for subscriptions; blocks. */
    StatefulRedisPubSubConnection<String, String> connectPubSub();

    /** Tells whether {@link #connectPubSub} works. */
    default boolean subscribes() {
        return true;
    }

    /** Closes a connection that this source has made. */
    default void close(StatefulConnection<?, ?> connection) {
        connection.closeAsync();
    }

    /** Frees what this library has made; called last. */
    default void close() {}

    /** The user's or our own client of a server or of a Sentinel-watched group. */
    static RedisSource of(RedisClient client) {
        return new RedisSource() {
            @Override
            public boolean cluster() {
                return false;
            }

            @Override
            public Link connect() {
                return Link.owned(client.connect(StringCodec.UTF8));
            }

            @Override
            public StatefulRedisPubSubConnection<String, String> connectPubSub() {
                return client.connectPubSub(StringCodec.UTF8);
            }
        };
    }

    /** The user's or our own client of a cluster. */
    static RedisSource of(RedisClusterClient client) {
        return new RedisSource() {
            @Override
            public boolean cluster() {
                return true;
            }

            @Override
            public Link connect() {
                return Link.owned(client.connect(StringCodec.UTF8));
            }

            @Override
            public StatefulRedisPubSubConnection<String, String> connectPubSub() {
                return client.connectPubSub(StringCodec.UTF8);
            }
        };
    }

    /** The user's own connection, and one for subscriptions if there is one. */
    static RedisSource of(
            StatefulConnection<String, String> connection,
            @Nullable StatefulRedisPubSubConnection<String, String> pubSub) {
        boolean cluster = connection instanceof StatefulRedisClusterConnection;
        return new RedisSource() {
            @Override
            public boolean cluster() {
                return cluster;
            }

            @Override
            public Link connect() {
                RedisClusterAsyncCommands<String, String> commands =
                        connection instanceof StatefulRedisClusterConnection<String, String> clustered
                                ? clustered.async()
                                : ((StatefulRedisConnection<String, String>) connection).async();
                return new Link(commands, () -> {}, null);
            }

            @Override
            public StatefulRedisPubSubConnection<String, String> connectPubSub() {
                if (pubSub == null) {
                    throw new IllegalStateException("no connection for subscriptions was given");
                }
                return pubSub;
            }

            @Override
            public boolean subscribes() {
                return pubSub != null;
            }
        };
    }
}
