package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.spi.support.Answers;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.cluster.pubsub.StatefulRedisClusterPubSubConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.pubsub.api.async.RedisPubSubAsyncCommands;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Where connections come from: a client or a connection, of a server or a cluster. */
public interface ConnectionFactory {

    /**
     * One open connection.
     *
     * @param commands its commands
     * @param wrongServer called when a server of a cluster has turned out to be a replica, or not to have the key any
     *     more: looks for the right one. Does nothing where a new link leads there
     * @param node finds the server that has a key, and its commands
     * @param server names the server that has a key
     * @param closed whether the connection was closed permanently, by any party
     * @param connection the connection, to be closed; null if it is the user's
     */
    record Link(
            RedisClusterAsyncCommands<String, String> commands,
            Runnable wrongServer,
            Function<String, CompletionStage<? extends RedisClusterAsyncCommands<String, String>>> node,
            Function<String, String> server,
            BooleanSupplier closed,
            @Nullable StatefulConnection<String, String> connection) {

        static Link owned(StatefulRedisConnection<String, String> connection) {
            RedisAsyncCommands<String, String> commands = RepliesInOrder.of(connection);
            // Sentinel returns the master of the moment to each new connection.
            return new Link(
                    commands,
                    () -> {},
                    key -> CompletableFuture.completedStage(commands),
                    key -> "",
                    () -> isClosed(connection),
                    connection);
        }

        static Link owned(
                Supplier<? extends CompletionStage<?>> refresh,
                StatefulRedisClusterConnection<String, String> connection) {
            return new Link(
                    connection.async(),
                    refresh::get,
                    key -> node(connection, key),
                    key -> server(connection, key),
                    () -> isClosed(connection),
                    connection);
        }

        /** Lettuce's own connections report whether they are only down. */
        static boolean isClosed(StatefulConnection<?, ?> connection) {
            return connection instanceof RedisChannelHandler<?, ?> handler && handler.isClosed();
        }

        private static String server(StatefulRedisClusterConnection<String, String> connection, String key) {
            RedisClusterNode node = connection.getPartitions().getPartitionBySlot(SlotHash.getSlot(key));
            return node == null ? "" : node.getNodeId();
        }

        private static CompletionStage<? extends RedisClusterAsyncCommands<String, String>> node(
                StatefulRedisClusterConnection<String, String> connection, String key) {
            RedisClusterNode node = connection.getPartitions().getPartitionBySlot(SlotHash.getSlot(key));
            if (node == null) {
                return CompletableFuture.failedStage(new RedisException("no node is known for key " + key));
            }
            return connection
                    .getConnectionAsync(node.getUri().getHost(), node.getUri().getPort())
                    .thenApply(StatefulRedisConnection::async);
        }
    }

    /** What closing a connection may take; it waits for no server. */
    long CLOSE_MILLIS = 500;

    /** Lettuce has them since 6.4; with an older one, waiters are called on plain channels, as on servers without them. */
    boolean CLIENT_HAS_SHARD_CHANNELS = Arrays.stream(RedisPubSubAsyncCommands.class.getMethods())
            .anyMatch(method -> method.getName().equals("ssubscribe"));

    /** Tells whether keys must be sent slot by slot. */
    boolean cluster();

    /** Connects; blocks, fails with the client's own exceptions. */
    Link connect();

    /** Makes the way in which this process is called; nothing is subscribed yet. Blocks. */
    default RedisSignals signals(String prefix, RedisWaiters waiters, Link link) {
        return new ChannelSignals(prefix, !cluster(), waiters, this, System::nanoTime);
    }

    /** Connects for subscriptions; blocks. */
    StatefulRedisPubSubConnection<String, String> connectPubSub();

    /** Tells whether {@link #connectPubSub} works. */
    default boolean subscribes() {
        return true;
    }

    /** Tells whether {@link #connect} makes a connection of its own. */
    default boolean connects() {
        return true;
    }

    /** Whether the server refused us last: it is then asked less often. */
    default void refused(boolean refused) {}

    /** Closes a connection that this factory has made, so that its client can be closed next without finding it half closed. */
    default void close(StatefulConnection<?, ?> connection) {
        try {
            Answers.get(connection.closeAsync(), CLOSE_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            // It is closed as far as it can be.
        }
    }

    /** The same, for one that may be opening still. */
    default void closeWhenOpen(CompletableFuture<? extends StatefulConnection<?, ?>> opening) {
        opening.thenAccept(this::close);
    }

    /** Says why the first connection failed; may look at the servers until the time for connecting is over. */
    default RuntimeException explain(Throwable failure) {
        return RedisFailures.TRANSLATOR.translate("connecting to Redis", failure);
    }

    /** Frees what this library has made; called last. */
    default void close() {}

    /** After {@link #close}, waits for the end of the threads that this library has made, for no longer than a request may take. */
    default void awaitEnd() {}

    /** The user's or our own client of a server or of a Sentinel-watched group. */
    static ConnectionFactory of(RedisClient client) {
        return new ConnectionFactory() {
            @Override
            public boolean cluster() {
                return false;
            }

            @Override
            public Link connect() {
                return Link.owned(client.connect(ExactStringCodec.INSTANCE));
            }

            @Override
            public StatefulRedisPubSubConnection<String, String> connectPubSub() {
                return client.connectPubSub(ExactStringCodec.INSTANCE);
            }
        };
    }

    /** The user's or our own client of a cluster. */
    static ConnectionFactory of(RedisClusterClient client) {
        return of(client, client::refreshPartitionsAsync);
    }

    /** The same, with what asks the cluster for its slots again. */
    static ConnectionFactory of(RedisClusterClient client, Supplier<? extends CompletionStage<?>> refresh) {
        return new ConnectionFactory() {
            @Override
            public boolean cluster() {
                return true;
            }

            @Override
            public Link connect() {
                return Link.owned(refresh, client.connect(ExactStringCodec.INSTANCE));
            }

            @Override
            public RedisSignals signals(String prefix, RedisWaiters waiters, Link link) {
                return ofCluster(prefix, waiters, link, this, refresh);
            }

            @Override
            public StatefulRedisClusterPubSubConnection<String, String> connectPubSub() {
                return client.connectPubSub(ExactStringCodec.INSTANCE);
            }
        };
    }

    /**
     * Makes the way in which this process is called by a cluster. Blocks.
     *
     * @param connections makes the connections, and closes them
     * @param refresh asks the cluster for its slots again
     */
    static RedisSignals ofCluster(
            String prefix,
            RedisWaiters waiters,
            Link link,
            ConnectionFactory connections,
            Supplier<? extends CompletionStage<?>> refresh) {
        return CLIENT_HAS_SHARD_CHANNELS && hasShardChannels(link)
                ? new ShardSignals(refresh, waiters, connections, System::nanoTime)
                : new ChannelSignals(prefix, false, waiters, connections, System::nanoTime);
    }

    /** Redis 7 and Valkey have them; where INFO is not allowed, they are not used. */
    private static boolean hasShardChannels(Link link) {
        try {
            String info = Answers.get(link.commands().info("server").toCompletableFuture(), 10, TimeUnit.SECONDS);
            Matcher version = Pattern.compile("redis_version:(\\d+)").matcher(info);
            return version.find() && Integer.parseInt(version.group(1)) >= 7;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } catch (ExecutionException | TimeoutException e) {
            return false;
        }
    }

    /** The user's own connection, and one for subscriptions if there is one. */
    static ConnectionFactory of(
            StatefulConnection<String, String> connection,
            @Nullable StatefulRedisPubSubConnection<String, String> pubSub) {
        boolean cluster = connection instanceof StatefulRedisClusterConnection;
        return new ConnectionFactory() {
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
                return new Link(
                        commands,
                        () -> {},
                        key -> CompletableFuture.completedStage(commands),
                        key -> "",
                        () -> Link.isClosed(connection),
                        null);
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

            @Override
            public boolean connects() {
                return false;
            }
        };
    }
}
