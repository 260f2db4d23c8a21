package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.HaProxyServer;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Behind HAProxy, which ends connections that are idle for two seconds, and those to a server that is down. */
@House("middlebox:idle drops")
final class HaProxyTest {
    private static final Duration IDLE = Duration.ofSeconds(2);
    /** It is renewed each three seconds and a third, so that each renewal finds its connection ended. */
    private static final Duration LEASE = Duration.ofSeconds(10);

    private static LockClient client(Db db, HaProxyServer proxy, String table) {
        String direct = db.process().host() + ":" + db.process().port();
        return LockClient.connect(
                db.url().replace(direct, proxy.address()) + "?user=" + db.user() + "&password=" + db.password()
                        + "&holdfast.createTable=true&holdfast.table=" + table,
                LockClientOptions.builder()
                        .lockOptions(LockOptions.builder().lease(LEASE).build())
                        .build());
    }

    private static void awaitRenewals(Lease lease, int count) {
        Duration[] before = {lease.remaining()};
        int[] seen = {0};
        await().atMost(Duration.ofMinutes(1))
                .pollInterval(Duration.ofMillis(20))
                .until(() -> {
                    assertThat(lease.isValid()).isTrue();
                    Duration now = lease.remaining();
                    seen[0] += now.compareTo(before[0]) > 0 ? 1 : 0;
                    before[0] = now;
                    return seen[0] >= count;
                });
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void idleConnectionsAreEnded_leaseIsRenewed_andAWaiterIsServed(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        try (HaProxyServer proxy = HaProxyServer.start(
                        IDLE, List.of(db.process().host() + ":" + db.process().port()));
                LockClient holder = client(db, proxy, table);
                LockClient other = client(db, proxy, table)) {
            Lease lease = holder.lock("a").acquire();
            assertThat(other.lock("a").tryAcquire()).isEmpty();
            CompletableFuture<Lease> waiter = other.lock("a").acquireAsync(Duration.ofMinutes(1));
            awaitRenewals(lease, 2);
            assertThat(waiter).isNotDone();

            lease.close();

            try (Lease next = waiter.get(60, TimeUnit.SECONDS)) {
                assertThat(next.token()).isGreaterThan(lease.token());
            }
        }
    }

    /** The first path to the server breaks, with all its connections, and HAProxy takes the second one. */
    @Test
    void firstServerGoesDown_leaseIsRenewedByTheSecond() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        String table = SharedDb.newTable();
        try (FaultProxy first = FaultProxy.to(db.process());
                FaultProxy second = FaultProxy.to(db.process());
                HaProxyServer proxy = HaProxyServer.start(
                        IDLE, List.of(first.host() + ":" + first.port(), second.host() + ":" + second.port()));
                LockClient holder = client(db, proxy, table);
                LockClient other = client(db, proxy, table);
                Lease lease = holder.lock("a").acquire()) {
            assertThat(first.connections()).isPositive();
            first.close();

            awaitRenewals(lease, 1);

            assertThat(second.connections()).isPositive();
            assertThat(await().atMost(Duration.ofMinutes(1))
                            .ignoreExceptions()
                            .until(() -> other.lock("a").tryAcquire(), java.util.Objects::nonNull))
                    .isEmpty();
        }
    }
}
