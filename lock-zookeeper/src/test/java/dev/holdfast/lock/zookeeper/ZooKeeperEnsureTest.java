package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** {@code ensure} where the lease that was asked for is longer than the session that carries it. */
class ZooKeeperEnsureTest {
    private static final LockClientOptions LEASE_BEYOND_THE_SESSION = LockClientOptions.builder()
            .lockOptions(LockOptions.builder().lease(Duration.ofSeconds(16)).build())
            .build();

    private static ZooKeeperFixture fixture;

    @BeforeAll
    static void startServer() throws Exception {
        fixture = ZooKeeperFixture.single();
    }

    @AfterAll
    static void stopServer() {
        fixture.close();
    }

    private static LockClient connect(int sessionMillis) {
        return LockClient.connect(fixture.uri() + "?sessionTimeout=" + sessionMillis, LEASE_BEYOND_THE_SESSION);
    }

    @Test
    @DisplayName("What the session carries is ensured; more is refused; the lease stays valid and closes in order")
    void ensure_leaseBeyondTheSession_keepsTheLease() throws Exception {
        try (LockClient client = connect(15_000)) {
            try (Lease lease = client.lock("ensure").acquire()) {
                assertThatCode(() -> lease.ensure(Duration.ofSeconds(9))).doesNotThrowAnyException();
                assertThatThrownBy(() -> lease.ensure(Duration.ofSeconds(10)))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("lock 'ensure': cannot ensure PT10S, a lease of 10000 ms");
                assertThat(lease.isValid()).isTrue();
            }
            client.lock("ensure").acquire().close();
        }
    }

    @Test
    @DisplayName("A lost lease is reported as lost by every method")
    void ensure_afterTheSessionEnded_isLost() throws Exception {
        try (LockClient client = connect(4_000)) {
            Lease lease = client.lock("gone").acquire();
            fixture.partition();
            await().atMost(ZooKeeperFixture.PATIENCE)
                    .untilAsserted(() -> assertThatThrownBy(() -> lease.ensure(Duration.ofMillis(1)))
                            .isInstanceOf(LeaseLostException.class));
            assertThatThrownBy(() -> lease.ensure(Duration.ofMinutes(1))).isInstanceOf(LeaseLostException.class);
            fixture.heal();
        }
    }
}
