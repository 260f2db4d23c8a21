package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The end of a cluster client waits for requests for its slots, also for those that Lettuce makes by itself. No server. */
final class TopologyRefreshTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private static final class Client extends RedisClusterClient {
        final CompletableFuture<Void> own = new CompletableFuture<>();
        volatile boolean refreshing = true;
        volatile boolean suspended;

        @Override
        public CompletableFuture<Void> refreshPartitionsAsync() {
            return own;
        }

        @Override
        public void suspendTopologyRefresh() {
            suspended = true;
        }

        @Override
        public boolean isTopologyRefreshInProgress() {
            return refreshing;
        }
    }

    @Test
    void end_waitsForRequests_ofItsOwn_andOfLettuce() throws Exception {
        Client client = new Client();
        TopologyRefresh refresh = new TopologyRefresh(client);
        refresh.get();
        CompletableFuture<Void> end = refresh.end();
        assertThat(client.suspended).isTrue();
        client.own.complete(null);
        Thread.sleep(50);
        assertThat(end).isNotDone();
        client.refreshing = false;
        assertThat(end).succeedsWithin(PATIENCE);
    }

    @Test
    void end_doesNotWaitForEver() {
        assertThat(new TopologyRefresh(new Client()).end()).succeedsWithin(PATIENCE);
    }
}
