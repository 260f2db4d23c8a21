package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.EtcdServer;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.maintenance.AlarmType;
import io.etcd.jetcd.options.CompactOption;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A node whose database has reached its quota refuses all that writes (alarm NOSPACE). */
@House("servers:full")
final class EtcdQuotaTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int PIECE = 500_000;
    private static final int PIECES = 400;

    /** With a longer lease if necessary: the machine may pause for most of a short one. */
    @Test
    void fullDatabase_refusesNewHolders_keepsTheOthers_andLetsThemGo() throws Exception {
        for (int seconds = 3; ; seconds *= 2) {
            try {
                refusesNewHolders(Duration.ofSeconds(seconds));
                return;
            } catch (AssertionError | LockException e) {
                if (seconds == 12) {
                    throw e;
                }
            }
        }
    }

    private static void refusesNewHolders(Duration lease) throws Exception {
        LockClientOptions options = LockClientOptions.builder()
                .unavailableTimeout(Duration.ofSeconds(2))
                .lockOptions(LockOptions.builder().lease(lease).build())
                .build();
        AtomicInteger renewals = new AtomicInteger();
        try (EtcdServer server = EtcdServer.startWith("--quota-backend-bytes=4194304");
                Client etcd = Client.builder()
                        .endpoints(server.nodes().get(0).endpoint())
                        .build();
                LockClient client = LockClient.connect("etcd://" + server.hostsAndPorts(), options)) {
            client.addListener(new LockListener() {
                @Override
                public void renewed(String name, long token) {
                    renewals.incrementAndGet();
                }
            });
            Lease held = client.lock("held").acquire();
            fill(etcd.getKVClient());
            int before = renewals.get();

            assertThatThrownBy(() -> client.lock("orders").acquire(Duration.ofSeconds(3)))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("orders")
                    .hasMessageContaining("database space exceeded")
                    .hasMessageContaining("compact, defragment, then disarm the alarm");
            // More than a lease.
            await().atMost(PATIENCE).until(() -> !held.isValid() || renewals.get() >= before + 5);
            assertThat(held.isValid()).as("a held lock is kept").isTrue();

            held.close();
            assertThat(client.holder("held")).as("its release is carried out").isEmpty();

            makeRoom(etcd);
            Lease next = client.lock("held").acquire(PATIENCE);
            assertThat(next.token()).isGreaterThan(held.token());
            next.close();
        }
    }

    private static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }

    private static void fill(KV kv) throws Exception {
        for (int i = 0; i < PIECES; i++) {
            try {
                kv.put(bytes("filler"), bytes("x".repeat(PIECE))).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            } catch (ExecutionException full) {
                assertThat(full).hasMessageContaining("database space exceeded");
                return;
            }
        }
        throw new AssertionError("the database is not full after " + PIECES + " pieces of " + PIECE + " bytes");
    }

    /** As the page says. */
    private static void makeRoom(Client etcd) throws Exception {
        long revision = etcd.getKVClient()
                .get(bytes("filler"))
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                .getHeader()
                .getRevision();
        etcd.getKVClient()
                .compact(
                        revision,
                        CompactOption.builder().withCompactPhysical(true).build())
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        etcd.getMaintenanceClient().defragmentMember(endpoint(etcd)).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        etcd.getMaintenanceClient().listAlarms().get(PATIENCE.toSeconds(), TimeUnit.SECONDS).getAlarms().stream()
                .filter(alarm -> alarm.getAlarmType() == AlarmType.NOSPACE)
                .forEach(alarm -> etcd.getMaintenanceClient().alarmDisarm(alarm).join());
    }

    private static String endpoint(Client etcd) {
        return etcd.getClusterClient()
                .listMember()
                .join()
                .getMembers()
                .get(0)
                .getClientURIs()
                .get(0)
                .toString();
    }
}
