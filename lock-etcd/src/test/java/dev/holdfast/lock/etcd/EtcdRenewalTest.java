package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.server.Direction;
import dev.holdfast.lock.testkit.server.EtcdServer;
import dev.holdfast.lock.testkit.server.FaultProxy;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Renewals where one of two ways to the server is silent: its connection stands, but nothing comes back on it. */
final class EtcdRenewalTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final Duration LEASE = Duration.ofSeconds(6);

    @Test
    void renewal_withoutAnswer_goesToAnotherEndpoint() throws Exception {
        ClientOptions options = ClientOptions.builder()
                .lockOptions(LockOptions.builder().lease(LEASE).build())
                .requestTimeout(Duration.ofSeconds(30))
                .build();
        try (EtcdServer server = EtcdServer.start();
                FaultProxy one =
                        FaultProxy.to("127.0.0.1", server.nodes().get(0).port());
                FaultProxy two =
                        FaultProxy.to("127.0.0.1", server.nodes().get(0).port());
                LockClient client =
                        LockClient.connect("etcd://127.0.0.1:" + one.port() + ",127.0.0.1:" + two.port(), options)) {
            Lease lease = client.lock("renewed").acquire();
            await().atMost(PATIENCE).until(() -> one.connections() > 0 && two.connections() > 0);

            one.blackHole(Direction.TO_CLIENT);

            long silentNanos = System.nanoTime();
            await().atMost(PATIENCE).until(() -> System.nanoTime() - silentNanos > 2 * LEASE.toNanos());
            assertThat(lease.isValid()).isTrue();
        }
    }
}
