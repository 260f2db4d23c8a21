package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.redis.internal.connection.Stubs;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.models.partitions.Partitions;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.cluster.pubsub.StatefulRedisClusterPubSubConnection;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Two nodes without a server: all slots are at home, but for those that the test moves to the other one. */
public final class StubCluster {
    public static final int HOME = 7001;
    public static final int OTHER = 7002;
    private static final String HOST = "node.example";

    /** Connections to the cluster. */
    public final List<StatefulRedisClusterPubSubConnection<String, String>> connections = new CopyOnWriteArrayList<>();

    /** Connections to nodes: {@code 2:7001} is that to the home of the second connection. */
    public final Map<String, StubSubscriber> nodes = new ConcurrentHashMap<>();

    /** How many connections to the cluster were closed. */
    public final AtomicInteger closes = new AtomicInteger();

    /** How often it was asked for its slots. */
    public final AtomicInteger refreshes = new AtomicInteger();

    /** Why it cannot be reached. */
    public volatile @Nullable RuntimeException unreachable;

    public volatile CountDownLatch mayConnect = new CountDownLatch(0);

    private final Set<Integer> moved = new HashSet<>();
    private final Partitions partitions = new Partitions();

    public StubCluster() {
        place();
    }

    public void place() {
        List<Integer> home = new ArrayList<>();
        for (int slot = 0; slot < SlotHash.SLOT_COUNT; slot++) {
            if (!moved.contains(slot)) {
                home.add(slot);
            }
        }
        partitions.reload(List.of(node(HOME, home), node(OTHER, List.copyOf(moved))));
    }

    /** No master has a slot, as when all masters are gone. */
    public void displace() {
        partitions.reload(List.of(node(HOME, List.of())));
    }

    private static RedisClusterNode node(int port, List<Integer> slots) {
        return new RedisClusterNode(RedisURI.create(HOST, port), "id" + port, true, null, 0, 0, 0, slots, Set.of());
    }

    public void move(String key) {
        moved.add(SlotHash.getSlot(key));
        place();
    }

    public Partitions partitions() {
        return partitions;
    }

    public CompletableFuture<Void> refresh() {
        refreshes.incrementAndGet();
        return CompletableFuture.completedFuture(null);
    }

    public StatefulRedisClusterPubSubConnection<String, String> connectPubSub() {
        RuntimeException failure = unreachable;
        try {
            mayConnect.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        if (failure != null) {
            throw failure;
        }
        int number = connections.size() + 1;
        StatefulRedisClusterPubSubConnection<String, String> connection =
                Stubs.of(StatefulRedisClusterPubSubConnection.class, (method, arguments) -> switch (method) {
                    case "getPartitions" -> partitions;
                    case "getConnectionAsync" -> {
                        assertThat(arguments[0]).isEqualTo(HOST);
                        yield CompletableFuture.completedFuture(
                                nodes.computeIfAbsent(number + ":" + arguments[1], key -> new StubSubscriber())
                                        .connection);
                    }
                    case "closeAsync" -> {
                        closes.incrementAndGet();
                        yield CompletableFuture.completedFuture(null);
                    }
                    default -> Stubs.unexpected(method);
                });
        connections.add(connection);
        return connection;
    }
}
