package dev.holdfast.lock.zookeeper.internal.session;

import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.zookeeper.RecordingListener;
import dev.holdfast.lock.zookeeper.ZooKeeperFixture;
import dev.holdfast.lock.zookeeper.internal.queue.ZooKeeperLockBackend;
import java.time.Duration;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A name whose children do not fit into a packet, and the other locks of the same session. */
@House("servers:full")
class ZooKeeperPoisonedNameTest {

    @Test
    @DisplayName("A name with more children than fit into a packet fails with what to do, and leaves the session alone")
    void poisonedName_fails_othersGoOn() throws Exception {
        try (ZooKeeperFixture fixture = ZooKeeperFixture.single()) {
            ZooKeeperLockBackend backend = fixture.newBackend(30_000);
            try (LockClient client = LockEngine.client(
                    backend,
                    LockClientOptions.builder()
                            .requestTimeout(Duration.ofSeconds(10))
                            .lockOptions(LockOptions.builder()
                                    .lease(Duration.ofSeconds(30))
                                    .build())
                            .build())) {
                client.lock("hot").acquire().close();
                ZooKeeper administrator = fixture.administrator();
                String path = ZooKeeperFixture.parent("hot") + "/" + "x".repeat(12_000);
                for (int i = 0; i < 100; i++) {
                    administrator.create(path + i, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
                }
                Lease payments = client.lock("payments").acquire();
                Session session = backend.session();

                assertThatThrownBy(() -> client.lock("hot").acquire(Duration.ofMinutes(2)))
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("lock 'hot'")
                        .hasMessageContaining("jute.maxbuffer");

                RecordingListener listener = RecordingListener.of(backend);
                for (int i = 0; i < 10; i++) {
                    assertThatThrownBy(() -> client.lock("hot").acquire(Duration.ofMinutes(2)))
                            .isInstanceOf(LockConfigurationException.class);
                    assertThatThrownBy(() -> client.holder("hot")).isInstanceOf(LockConfigurationException.class);
                    client.lock("q").acquire(PATIENCE).close();
                }
                assertThat(listener.suspected).isEmpty();
                assertThat(backend.session()).isSameAs(session);
                payments.ensure(Duration.ofSeconds(5));
                payments.close();
            }
        }
    }
}
