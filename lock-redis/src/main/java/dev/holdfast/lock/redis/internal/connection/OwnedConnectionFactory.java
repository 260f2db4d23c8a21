package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.spi.support.ClientThreads;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.EventLoopGroupProvider;
import io.lettuce.core.resource.ThreadFactoryProvider;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A client of our own for an address. Commands fail at once while the server is away, and none is sent twice by the
 * client: an unknown outcome is reported to the engine, which resolves it with the owner id. Reconnects within half a second
 * of the server's return.
 *
 * <p>All connections share one thread: a waiter that is called sends its attempt from the thread that got the call, with
 * no other thread woken in between.
 *
 * <p>A cluster's client keeps commands for a node that is away until they time out, in order, and may send them again
 * after a reconnect, which the owner id makes harmless. Rejecting them is not possible there: Lettuce then rejects every
 * first command to a node, too, because it connects to nodes on demand.
 */
public final class OwnedConnectionFactory implements ConnectionFactory {
    /** Every command is bounded in time by us; the client would set a timer for each one. */
    private static final TimeoutOptions NO_TIMER = TimeoutOptions.create();

    /** Routers and firewalls drop connections that are idle for a minute or more. */
    private static final Duration KEEP_ALIVE_IDLE = Duration.ofSeconds(30);

    private static final Duration KEEP_ALIVE_INTERVAL = Duration.ofSeconds(10);
    private static final int KEEP_ALIVE_COUNT = 3;

    private final AbstractRedisClient client;
    private final ClientResources resources;
    private final EventLoopGroupProvider threads;
    private final ClientThreads made;
    private final CompletableFuture<Void> resourcesEnd = new CompletableFuture<>();
    private final long timeoutNanos;
    private final PatientDelay delay;
    private final Queue<CompletableFuture<Void>> closing = new ConcurrentLinkedQueue<>();
    private final ConnectionFactory delegate;
    private final @Nullable TopologyRefresh refresh;
    private final InitialConnect opening;

    private OwnedConnectionFactory(
            AbstractRedisClient client,
            ClientResources resources,
            EventLoopGroupProvider threads,
            ClientThreads made,
            Duration timeout,
            PatientDelay delay,
            ConnectionFactory delegate,
            @Nullable TopologyRefresh refresh,
            InitialConnect opening) {
        this.client = client;
        this.resources = resources;
        this.threads = threads;
        this.made = made;
        this.timeoutNanos = timeout.toNanos();
        this.delay = delay;
        this.delegate = delegate;
        this.refresh = refresh;
        this.opening = opening;
    }

    public static OwnedConnectionFactory connect(String uri, Duration timeout) {
        RedisUri address = RedisUri.parse(uri);
        return connect(address.cluster(), address.servers(), address.files(), timeout);
    }

    public static OwnedConnectionFactory connect(boolean cluster, List<RedisURI> uris, Duration timeout) {
        return connect(cluster, uris, TlsFiles.NONE, timeout);
    }

    private static OwnedConnectionFactory connect(
            boolean cluster, List<RedisURI> uris, TlsFiles files, Duration timeout) {
        SslOptions ssl = files.options(timeout);
        InitialConnect opening = new InitialConnect(cluster, uris, timeout);
        uris.forEach(each -> {
            each.setTimeout(timeout);
            each.getSentinels().forEach(sentinel -> sentinel.setTimeout(timeout));
        });
        PatientDelay delay = new PatientDelay();
        ClientThreads made = new ClientThreads();
        ThreadFactoryProvider factories = pool -> made.by(new DefaultThreadFactory(pool, true));
        EventLoopGroupProvider threads = new LastingEventLoops(factories);
        ClientResources resources = ClientResources.builder()
                .threadFactoryProvider(factories)
                .eventLoopGroupProvider(threads)
                .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                .reconnectDelay(delay)
                .build();
        try {
            return connect(opening, cluster, uris, ssl, timeout, threads, made, resources, delay);
        } catch (RuntimeException | LinkageError e) {
            opening.close();
            resources.shutdown(0, 0, TimeUnit.SECONDS);
            threads.shutdown(0, 0, TimeUnit.SECONDS);
            made.awaitEnd(timeout.toNanos());
            throw e;
        }
    }

    private static OwnedConnectionFactory connect(
            InitialConnect opening,
            boolean cluster,
            List<RedisURI> uris,
            SslOptions ssl,
            Duration timeout,
            EventLoopGroupProvider threads,
            ClientThreads made,
            ClientResources resources,
            PatientDelay delay) {
        SocketOptions socket = SocketOptions.builder()
                .connectTimeout(timeout)
                .keepAlive(SocketOptions.KeepAliveOptions.builder()
                        .enable()
                        .idle(KEEP_ALIVE_IDLE)
                        .interval(KEEP_ALIVE_INTERVAL)
                        .count(KEEP_ALIVE_COUNT)
                        .build())
                .tcpNoDelay(true)
                .build();
        if (cluster) {
            RedisClusterClient client = RedisClusterClient.create(resources, uris);
            client.setOptions(ClusterClientOptions.builder()
                    .socketOptions(socket)
                    .sslOptions(ssl)
                    .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                            .adaptiveRefreshTriggersTimeout(Duration.ofMillis(500))
                            .build())
                    .timeoutOptions(NO_TIMER)
                    .build());
            TopologyRefresh refresh = new TopologyRefresh(client);
            ConnectionFactory delegate = ConnectionFactory.of(client, refresh);
            return new OwnedConnectionFactory(
                    client, resources, threads, made, timeout, delay, delegate, refresh, opening);
        }
        RedisClient client = RedisClient.create(resources, uris.get(0));
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .socketOptions(socket)
                .sslOptions(ssl)
                .timeoutOptions(NO_TIMER)
                .build());
        return new OwnedConnectionFactory(
                client, resources, threads, made, timeout, delay, ConnectionFactory.of(client), null, opening);
    }

    @Override
    public boolean cluster() {
        return delegate.cluster();
    }

    @Override
    public Link connect() {
        return opening.inTime(delegate::connect, late -> {
            if (late.connection() != null) {
                late.connection().closeAsync();
            }
        });
    }

    @Override
    public RuntimeException explain(Throwable failure) {
        return opening.explain(failure);
    }

    @Override
    public RedisSignals signals(String prefix, RedisWaiters waiters, Link link) {
        return refresh == null
                ? ConnectionFactory.super.signals(prefix, waiters, link)
                : opening.nextInTime(
                        () -> ConnectionFactory.ofCluster(prefix, waiters, link, this, refresh), RedisSignals::close);
    }

    @Override
    public StatefulRedisPubSubConnection<String, String> connectPubSub() {
        return delegate.connectPubSub();
    }

    @Override
    public void refused(boolean refused) {
        delay.refused = refused;
    }

    @Override
    public void close(StatefulConnection<?, ?> connection) {
        awaitAtEnd(connection.closeAsync());
    }

    @Override
    public void closeWhenOpen(CompletableFuture<? extends StatefulConnection<?, ?>> opening) {
        awaitAtEnd(opening.handle((opened, failure) -> opened)
                .thenCompose(opened -> opened == null ? CompletableFuture.completedFuture(null) : opened.closeAsync()));
    }

    private void awaitAtEnd(CompletableFuture<Void> end) {
        closing.add(end);
        end.whenComplete((closed, failure) -> closing.remove(end));
    }

    /**
     * Connections first: the client complains of each that it finds half closed. One that is being opened may take long on a busy
     * machine, so half of the time of {@link #awaitEnd} is theirs.
     */
    @Override
    public void close() {
        opening.close();
        if (refresh != null) {
            awaitAtEnd(refresh.end());
        }
        CompletableFuture.allOf(closing.toArray(CompletableFuture[]::new))
                .orTimeout(timeoutNanos / 2, TimeUnit.NANOSECONDS)
                .whenComplete((closed, late) -> client.shutdownAsync(0, 2, TimeUnit.SECONDS)
                        .whenComplete((nothing, failure) -> {
                            resources
                                    .shutdown(0, 2, TimeUnit.SECONDS)
                                    .addListener(ended -> resourcesEnd.complete(null));
                            threads.shutdown(0, 2, TimeUnit.SECONDS).addListener(ended -> opening.end());
                        }));
    }

    /** Lettuce's executor starts a thread when it is shut down, unless it has one. */
    @Override
    public void awaitEnd() {
        made.awaitEnd(resourcesEnd, timeoutNanos);
    }

    /** Soon, but not while the server refuses us: each try is a failed login there. */
    static final class PatientDelay extends Delay {
        private final Delay soon =
                Delay.fullJitter(Duration.ofMillis(10), Duration.ofMillis(500), 10, TimeUnit.MILLISECONDS);
        volatile boolean refused;

        @Override
        public Duration createDelay(long attempt) {
            return refused ? Duration.ofMillis(randomBetween(2_000, 5_000)) : soon.createDelay(attempt);
        }
    }
}
