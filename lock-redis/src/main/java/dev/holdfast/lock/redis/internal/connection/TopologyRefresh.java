package dev.holdfast.lock.redis.internal.connection;

import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import java.util.ArrayList;
import java.util.List;
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

    /** A request counts as running before it begins, so that an end at the same moment waits for it. */
    @Override
    public CompletionStage<?> get() {
        CompletableFuture<Void> over = new CompletableFuture<>();
        running.add(over);
        CompletionStage<Void> request = CompletableFuture.completedStage(null);
        try {
            if (!ended) {
                request = client.refreshPartitionsAsync();
            }
        } finally {
            request.whenComplete((nothing, failure) -> {
                running.remove(over);
                over.complete(null);
            });
        }
        return request;
    }

    /** Begins no more requests; completes when those so far have ended, in whatever way. */
    CompletableFuture<Void> end() {
        ended = true;
        client.suspendTopologyRefresh();
        if (client.getOptions() instanceof ClusterClientOptions options) {
            client.setOptions(options.mutate()
                    .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                            .disableAllAdaptiveRefreshTriggers()
                            .build())
                    .build());
        }
        return CompletableFuture.allOf(running.toArray(CompletableFuture[]::new))
                .thenCompose(nothing -> begun())
                .handle((nothing, failure) -> nothing)
                .thenCompose(nothing -> settled(LOOKS));
    }

    /** Lettuce hands its own requests to an executor, and they show only once they have begun. */
    private CompletableFuture<Void> begun() {
        List<CompletableFuture<?>> before = new ArrayList<>();
        for (Executor each : client.getResources().eventExecutorGroup()) {
            before.add(CompletableFuture.runAsync(() -> {}, each));
        }
        return CompletableFuture.allOf(before.toArray(CompletableFuture[]::new));
    }

    /** Lettuce's own requests, as after a reconnection, show only by that state. */
    private CompletableFuture<Void> settled(int looks) {
        if (looks == 0 || !client.isTopologyRefreshInProgress()) {
            return CompletableFuture.completedFuture(null);
        }
        return CompletableFuture.runAsync(() -> {}, soon).thenCompose(nothing -> settled(looks - 1));
    }
}
