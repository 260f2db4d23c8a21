package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** The end of a cluster client waits for requests for its slots, also for those that Lettuce makes by itself. No server. */
final class TopologyRefreshTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private static final class Client extends RedisClusterClient {
        {
            setOptions(ClusterClientOptions.create());
        }

        final CompletableFuture<Void> own = new CompletableFuture<>();
        volatile Runnable sending = () -> {};
        volatile boolean refreshing = true;
        volatile boolean suspended;

        @Override
        public CompletableFuture<Void> refreshPartitionsAsync() {
            sending.run();
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

    /** The end comes while a request is being sent. */
    @Test
    void end_waitsForARequestThatIsJustBegun() throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Client client = new Client();
        client.refreshing = false;
        client.sending = () -> {
            entered.countDown();
            try {
                goOn.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        };
        TopologyRefresh refresh = new TopologyRefresh(client);
        CompletableFuture<?> sender = CompletableFuture.runAsync(refresh::get);
        entered.await();
        CompletableFuture<Void> end = refresh.end();
        Thread.sleep(50);
        assertThat(end).isNotDone();
        goOn.countDown();
        assertThat(sender).succeedsWithin(PATIENCE);
        assertThat(end).isNotDone();
        client.own.complete(null);
        assertThat(end).succeedsWithin(PATIENCE);
    }

    /** Lettuce has handed one to its executor, which is busy. */
    @Test
    void end_waitsForARequestOfLettuceThatHasNotBegun_andAllowsNoOther() throws Exception {
        Client client = new Client();
        client.refreshing = false;
        CountDownLatch goOn = new CountDownLatch(1);
        for (EventExecutor each : client.getResources().eventExecutorGroup()) {
            each.execute(() -> {
                try {
                    goOn.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                client.refreshing = true;
            });
        }
        CompletableFuture<Void> end = new TopologyRefresh(client).end();
        Thread.sleep(50);
        assertThat(end).isNotDone();
        goOn.countDown();
        Thread.sleep(50);
        assertThat(end).isNotDone();
        client.refreshing = false;
        assertThat(end).succeedsWithin(PATIENCE);
        assertThat(((ClusterClientOptions) client.getOptions())
                        .getTopologyRefreshOptions()
                        .getAdaptiveRefreshTriggers())
                .isEmpty();
    }

    @Test
    void end_doesNotWaitForEver() {
        assertThat(new TopologyRefresh(new Client()).end()).succeedsWithin(PATIENCE);
    }
}
