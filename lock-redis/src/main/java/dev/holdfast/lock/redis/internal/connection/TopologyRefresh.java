package dev.holdfast.lock.redis.internal.connection;

import io.lettuce.core.cluster.RedisClusterClient;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Asks a cluster for its slots again, which opens a connection to each node. A client that shuts down meanwhile would log a warning
 * for each, so its end waits for these requests. Thread-safe.
 */
final class TopologyRefresh implements Supplier<CompletionStage<?>> {
    private static final int LOOKS = 200;
    private static final long LOOK_MILLIS = 10;

    private final RedisClusterClient client;
    private final Executor soon = CompletableFuture.delayedExecutor(LOOK_MILLIS, TimeUnit.MILLISECONDS, Runnable::run);
    private final Set<CompletableFuture<?>> running = ConcurrentHashMap.newKeySet();
    private volatile boolean ended;

    TopologyRefresh(RedisClusterClient client) {
        this.client = client;
    }

    @Override
    public CompletionStage<?> get() {
        if (ended) {
            return CompletableFuture.completedStage(null);
        }
        CompletableFuture<?> request = client.refreshPartitionsAsync().toCompletableFuture();
        running.add(request);
        return request.whenComplete((nothing, failure) -> running.remove(request));
    }

    /** Begins no more requests; completes when those so far have ended, in whatever way. */
    CompletableFuture<Void> end() {
        ended = true;
        client.suspendTopologyRefresh();
        return CompletableFuture.allOf(running.toArray(CompletableFuture[]::new))
                .handle((nothing, failure) -> nothing)
                .thenCompose(nothing -> settled(LOOKS));
    }

    /** Lettuce's own requests, as after a reconnection, show only by that state. */
    private CompletableFuture<Void> settled(int looks) {
        if (looks == 0 || !client.isTopologyRefreshInProgress()) {
            return CompletableFuture.completedFuture(null);
        }
        return CompletableFuture.runAsync(() -> {}, soon).thenCompose(nothing -> settled(looks - 1));
    }
}
