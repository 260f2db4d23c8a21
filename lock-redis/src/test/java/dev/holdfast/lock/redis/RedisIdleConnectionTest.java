package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A router or firewall drops an idle connection without notice to either end; new connections work. */
@House("middlebox:idle drops")
final class RedisIdleConnectionTest {
    private static final Duration IDLE = Duration.ofMillis(2_200);

    @Test
    void firstRequestsAfterAnIdleTime_areSentOnANewConnection_withinTheTimeOfARequest() throws Exception {
        try (RedisServer server = RedisServer.start();
                FaultProxy proxy = FaultProxy.to(server.host(), server.port());
                LockClient client = LockClient.connect("redis://" + proxy.host() + ":" + proxy.port())) {
            DistributedLock job = client.lock("job");
            job.acquire().close();
            pass(IDLE);
            proxy.keepBack(Direction.TO_SERVER);

            Optional<Lease> lease = job.tryAcquire();

            assertThat(lease).isPresent();
            lease.get().close();
            pass(IDLE);
            proxy.keepBack(Direction.TO_SERVER);
            List<CompletableFuture<Lease>> all = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                all.add(client.lock("job" + i)
                        .acquireAsync(Duration.ofSeconds(30))
                        .toCompletableFuture());
            }
            for (CompletableFuture<Lease> each : all) {
                each.get(1, TimeUnit.MINUTES).close();
            }
        }
    }

    /** Nothing is sent in this time. */
    private static void pass(Duration time) {
        await().pollDelay(time).atMost(time.plusSeconds(60)).until(() -> true);
    }
}
