package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.ClientThreads;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateAdapter;
import io.lettuce.core.RedisException;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.cluster.pubsub.StatefulRedisClusterPubSubConnection;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Sharded channels of a cluster: a script may publish only to a channel in the slot of its keys, so each lock has a
 * channel of its own for this process, on the node that has the lock. One connection a node, made when it is needed.
 *
 * <p>A channel stays subscribed for a while after its last waiter has left, because the next one often comes soon: the
 * {@value #IDLE} channels that were used last are kept. After a reconnect, or when a slot has moved (the server ends the
 * subscription then), channels are subscribed again one by one, and their waiters are called. While a node is away, those
 * waiting ask once a second whether another one has its slots now. A subscription and its end may cross:
 * what the server says last is compared with what is wanted. Whatever goes wrong here, waiters also poll.
 *
 * <p>Thread-safe. The lock guards the maps only; nothing is sent and no waiter is called while it is held.
 */
final class ShardSignals implements RedisSignals {
    private static final BackgroundLog LOG = BackgroundLog.of(ShardSignals.class);
    private static final int IDLE = 256;
    private static final long SUBSCRIBE_SECONDS = 10;
    private static final long RETRY_NANOS = 500_000_000;
    private static final int DEAD_AFTER = 3;
    private static final long AWAY_NANOS = 1_000_000_000;

    private final Supplier<? extends CompletionStage<?>> refresh;
    private final RedisWaiters waiters;
    private final ConnectionFactory factory;
    private final LongSupplier nanoTime;
    private final String inbox = OwnerId.random().toString();
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, String> channelOfOwner = new HashMap<>();
    private final Map<String, Set<String>> ownersOfChannel = new HashMap<>();
    private final LinkedHashSet<String> idle = new LinkedHashSet<>();
    private final Set<String> live = ConcurrentHashMap.newKeySet();
    private final Map<StatefulRedisPubSubConnection<String, String>, Set<String>> nodes = new ConcurrentHashMap<>();
    private final Set<StatefulRedisPubSubConnection<String, String>> away = ConcurrentHashMap.newKeySet();
    private final AtomicInteger missed = new AtomicInteger();
    private final AtomicLong askedNanos;
    private @Nullable CompletableFuture<StatefulRedisClusterPubSubConnection<String, String>> connection;
    private volatile boolean refused;
    private volatile long refusedNanos;
    private boolean closed;

    /**
     * Makes it; nothing is sent yet.
     *
     * @param refresh asks the cluster for its slots again
     * @param waiters who is called
     * @param factory connects, on a thread of its own
     * @param nanoTime as {@link System#nanoTime}
     */
    ShardSignals(
            Supplier<? extends CompletionStage<?>> refresh,
            RedisWaiters waiters,
            ConnectionFactory factory,
            LongSupplier nanoTime) {
        this.refresh = refresh;
        this.waiters = waiters;
        this.factory = factory;
        this.nanoTime = nanoTime;
        this.askedNanos = new AtomicLong(nanoTime.getAsLong());
    }

    @Override
    public boolean queues() {
        return true;
    }

    /**
     * SPUBLISH is carried out, and counts receivers, where the lock is; there the channel is subscribed. After a
     * subscription has failed, no waiter queues until one has worked; it is tried again while there are waiters.
     */
    @Override
    public String mode(RedisKeys keys) {
        String channel = channel(keys);
        if (live.contains(channel)) {
            return "S";
        }
        if (!away.isEmpty()) {
            followSlots();
        }
        if (refused && nanoTime.getAsLong() - refusedNanos > RETRY_NANOS) {
            refusedNanos = nanoTime.getAsLong();
            probe(channel);
        }
        return refused ? DEAF : "s";
    }

    /** Subscribes what a node that is away had, where its slots are now. */
    private void followSlots() {
        long now = nanoTime.getAsLong();
        long asked = askedNanos.get();
        if (now - asked < AWAY_NANOS || !askedNanos.compareAndSet(asked, now)) {
            return;
        }
        refresh.get()
                .whenComplete((refreshed, failure) -> connection()
                        .thenAccept(opened -> away.forEach(gone -> {
                            for (String channel : List.copyOf(nodes.getOrDefault(gone, Set.of()))) {
                                node(opened, channel).thenAccept(present -> {
                                    if (present != gone) {
                                        moved(gone, channel);
                                    }
                                });
                            }
                        })));
    }

    private void moved(StatefulRedisPubSubConnection<String, String> from, String channel) {
        Set<String> channels = nodes.get(from);
        if (channels != null && channels.remove(channel) && isKnown(channel)) {
            subscribe(channel, true);
        }
    }

    @Override
    public String inbox() {
        return inbox;
    }

    private String channel(RedisKeys keys) {
        return keys.lock() + ":c:" + inbox;
    }

    /** Subscribes, although no waiter in the queue could be called. */
    private void probe(String channel) {
        lock.lock();
        try {
            if (closed || ownersOfChannel.putIfAbsent(channel, new HashSet<>()) != null) {
                return;
            }
            idle.add(channel);
        } finally {
            lock.unlock();
        }
        subscribe(channel, true);
    }

    @Override
    public void wanted(String owner, RedisKeys keys) {
        String channel = channel(keys);
        boolean isNew;
        lock.lock();
        try {
            if (closed || channelOfOwner.putIfAbsent(owner, channel) != null) {
                return;
            }
            isNew = !ownersOfChannel.containsKey(channel);
            ownersOfChannel.computeIfAbsent(channel, key -> new HashSet<>()).add(owner);
            idle.remove(channel);
        } finally {
            lock.unlock();
        }
        if (isNew) {
            subscribe(channel, true);
        }
    }

    @Override
    public void unwanted(String owner) {
        String evicted = null;
        lock.lock();
        try {
            String channel = channelOfOwner.remove(owner);
            Set<String> owners = channel == null ? null : ownersOfChannel.get(channel);
            if (channel == null || owners == null || !owners.remove(owner) || !owners.isEmpty()) {
                return;
            }
            idle.add(channel);
            if (idle.size() > IDLE) {
                Iterator<String> oldest = idle.iterator();
                evicted = oldest.next();
                oldest.remove();
                ownersOfChannel.remove(evicted);
            }
        } finally {
            lock.unlock();
        }
        if (evicted != null) {
            unsubscribe(evicted);
        }
    }

    /** One of the connections seems dead; which one is not known, so all are replaced, and the channels with them. */
    @Override
    public void missed() {
        if (missed.incrementAndGet() < DEAD_AFTER) {
            return;
        }
        missed.set(0);
        CompletableFuture<StatefulRedisClusterPubSubConnection<String, String>> dead;
        lock.lock();
        try {
            dead = connection;
            connection = null;
        } finally {
            lock.unlock();
        }
        if (dead != null) {
            LOG.debug("calls do not arrive, so all channels are subscribed anew");
            dead.thenAccept(StatefulRedisClusterPubSubConnection::closeAsync);
        }
    }

    private void subscribe(String channel, boolean again) {
        CompletionStage<StatefulRedisClusterPubSubConnection<String, String>> open = connection();
        open.thenCompose(opened -> node(opened, channel))
                .thenCompose(node -> {
                    nodes.computeIfAbsent(node, this::prepare).add(channel);
                    return node.async()
                            .ssubscribe(channel)
                            .toCompletableFuture()
                            .orTimeout(SUBSCRIBE_SECONDS, TimeUnit.SECONDS);
                })
                .whenComplete((nothing, failure) -> {
                    if (failure == null) {
                        return;
                    }
                    LOG.debug("channel '{}': cannot subscribe, its waiters poll", channel, failure);
                    nodes.values().forEach(channels -> channels.remove(channel));
                    if (again && isKnown(channel)) {
                        refresh.get().whenComplete((refreshed, ignored) -> subscribe(channel, false));
                    } else {
                        giveUp(channel);
                    }
                });
    }

    /** Those who wait leave the queue, where they would only keep others waiting. */
    private void giveUp(String channel) {
        Set<String> owners;
        lock.lock();
        try {
            owners = ownersOfChannel.remove(channel);
            idle.remove(channel);
            if (owners != null) {
                owners.forEach(channelOfOwner::remove);
            }
        } finally {
            lock.unlock();
        }
        refusedNanos = nanoTime.getAsLong();
        refused = true;
        if (owners != null) {
            owners.forEach(waiters::call);
        }
    }

    private boolean isClosed() {
        lock.lock();
        try {
            return closed;
        } finally {
            lock.unlock();
        }
    }

    private static RedisException closed() {
        return new RedisException("the client is closed");
    }

    /** A connection that opens while the client ends has no event loop any more. */
    private CompletionStage<StatefulRedisPubSubConnection<String, String>> node(
            StatefulRedisClusterPubSubConnection<String, String> opened, String channel) {
        if (isClosed()) {
            return CompletableFuture.failedFuture(closed());
        }
        RedisClusterNode node = opened.getPartitions().getPartitionBySlot(SlotHash.getSlot(channel));
        if (node == null) {
            return CompletableFuture.failedFuture(new IllegalStateException("no node is known for channel " + channel));
        }
        return opened.getConnectionAsync(node.getUri().getHost(), node.getUri().getPort());
    }

    private Set<String> prepare(StatefulRedisPubSubConnection<String, String> node) {
        node.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void smessage(String from, String text) {
                missed.set(0);
                waiters.message(text);
            }

            @Override
            public void ssubscribed(String to, long count) {
                refused = false;
                if (!isKnown(to)) {
                    unsubscribe(to);
                    return;
                }
                live.add(to);
                callAll(to);
            }

            @Override
            public void sunsubscribed(String from, long count) {
                // By the server, because the slot has moved; by us, if it is no longer wanted.
                live.remove(from);
                Set<String> channels = nodes.get(node);
                if (channels != null) {
                    channels.remove(from);
                }
                if (isKnown(from)) {
                    refresh.get().whenComplete((refreshed, ignored) -> subscribe(from, true));
                }
            }
        });
        node.addListener(new RedisConnectionStateAdapter() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> disconnected) {
                Set<String> channels = nodes.getOrDefault(node, Set.of());
                live.removeAll(channels);
                if (!disconnected.isClosed()) {
                    away.add(node);
                    return;
                }
                for (String channel : List.copyOf(channels)) {
                    moved(node, channel);
                }
                nodes.remove(node);
                away.remove(node);
            }

            @Override
            public void onRedisConnected(RedisChannelHandler<?, ?> connected, SocketAddress address) {
                away.remove(node);
                Set<String> channels = nodes.get(node);
                if (channels != null) {
                    for (String channel : List.copyOf(channels)) {
                        channels.remove(channel);
                        if (isKnown(channel)) {
                            subscribe(channel, true);
                        }
                    }
                }
            }
        });
        return ConcurrentHashMap.newKeySet();
    }

    private void unsubscribe(String channel) {
        nodes.forEach((node, channels) -> {
            if (channels.remove(channel)) {
                node.async().sunsubscribe(channel);
            }
        });
    }

    private void callAll(String channel) {
        List<String> owners;
        lock.lock();
        try {
            owners = new ArrayList<>(ownersOfChannel.getOrDefault(channel, Set.of()));
        } finally {
            lock.unlock();
        }
        owners.forEach(waiters::call);
    }

    private boolean isKnown(String channel) {
        lock.lock();
        try {
            return !closed && ownersOfChannel.containsKey(channel);
        } finally {
            lock.unlock();
        }
    }

    private CompletionStage<StatefulRedisClusterPubSubConnection<String, String>> connection() {
        CompletableFuture<StatefulRedisClusterPubSubConnection<String, String>> opening;
        lock.lock();
        try {
            if (connection != null && !connection.isCompletedExceptionally()) {
                return connection;
            }
            if (closed) {
                return CompletableFuture.failedFuture(closed());
            }
            opening = new CompletableFuture<>();
            connection = opening;
        } finally {
            lock.unlock();
        }
        ClientThreads.start(
                "holdfast-redis-subscribe",
                () -> {
                    try {
                        opening.complete(
                                (StatefulRedisClusterPubSubConnection<String, String>) factory.connectPubSub());
                    } catch (RuntimeException | Error e) {
                        opening.completeExceptionally(e);
                    }
                },
                () -> opening.completeExceptionally(new RedisException("no memory for a thread")));
        return opening;
    }

    @Override
    public void close() {
        CompletableFuture<StatefulRedisClusterPubSubConnection<String, String>> open;
        lock.lock();
        try {
            closed = true;
            open = connection;
        } finally {
            lock.unlock();
        }
        if (open != null) {
            factory.closeWhenOpen(open);
        }
    }
}
