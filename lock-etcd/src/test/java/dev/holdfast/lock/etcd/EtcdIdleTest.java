package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.etcd.internal.client.FreshClient;
import dev.holdfast.lock.etcd.internal.client.OwnClient;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.EtcdServer;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A connection that was dropped without notice while the client was idle. */
@House("middlebox:idle drops")
final class EtcdIdleTest {
    private final AtomicLong idleNanos = new AtomicLong();

    private FreshClient client(FaultProxy proxy) {
        ClientBuilder builder = EtcdLocks.dedicated(
                Client.builder().endpoints("http://127.0.0.1:" + proxy.port()), Duration.ofSeconds(3));
        return new FreshClient(
                OwnClient.open(builder),
                () -> OwnClient.open(builder),
                Duration.ofSeconds(3),
                () -> System.nanoTime() + idleNanos.get());
    }

    @Test
    void tryLock_afterAnIdleTime_usesAnotherConnection() throws Exception {
        try (EtcdServer server = EtcdServer.start();
                FaultProxy proxy =
                        FaultProxy.to("127.0.0.1", server.nodes().get(0).port())) {
            FreshClient fresh = client(proxy);
            try (LockClient client =
                    EtcdLocks.builder(new EtcdConnection(fresh, fresh::close)).build()) {
                client.lock("job").acquire().close();
                Client before = fresh.get();
                proxy.halfOpen(Direction.TO_SERVER);
                idleNanos.addAndGet(FreshClient.MAX_IDLE.toNanos());

                assertThat(client.lock("job").tryAcquire()).hasValueSatisfying(Lease::close);

                Client after = fresh.get();
                assertThat(after).isNotSameAs(before);
                assertThat(fresh.get()).as("while it is in use").isSameAs(after);
            }
            idleNanos.addAndGet(FreshClient.MAX_IDLE.toNanos());
            assertThat(fresh.get()).as("after its close").isSameAs(fresh.get());
        }
    }
}
