package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.testkit.house.BystanderLocks;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.EtcdServer;
import dev.holdfast.lock.testkit.server.process.SmallDisk;
import dev.holdfast.lock.testkit.support.Waits;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A node whose disk is full ends at its next write. Its locks are lost for a reason, unless it is back in time. */
@House("process:disk")
@Tag(House.SLOW)
final class EtcdFullDiskTest {
    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** Its log takes two pieces of 64 MB before the first write. */
    private static final int MEGABYTES = 160;

    private static final int PIECE = 500_000;
    private static final int PIECES = 1_000;

    @Test
    void nodeCannotWrite_andEnds_locksWorkAgainWhenThereIsSpaceAndItIsBack() throws Exception {
        LockClientOptions options = LockClientOptions.builder()
                .unavailableTimeout(Duration.ofSeconds(2))
                .lockOptions(LockOptions.builder().lease(LEASE).build())
                .build();
        try (SmallDisk disk = SmallDisk.mount(MEGABYTES);
                EtcdServer server = EtcdServer.startWith(
                        "--data-dir=" + disk.folder().resolve("data"), "--quota-backend-bytes=4294967296");
                EtcdServer another = EtcdServer.start();
                LockClient client = LockClient.connect("etcd://" + server.hostsAndPorts(), options);
                LockClient elsewhere = LockClient.connect("etcd://" + another.hostsAndPorts(), options);
                BystanderLocks bystanders = BystanderLocks.hold(elsewhere, 10, LEASE)) {
            Lease held = client.lock("held").acquire();
            disk.fill();
            writeUntilItEnds(server);

            held.lost().toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertThat(held.isValid()).isFalse();
            assertThatThrownBy(() -> client.lock("orders").acquire(Duration.ofSeconds(3)))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("orders");

            disk.free();
            server.nodes().get(0).start();
            Waits.until("the node is healthy", () -> server.nodes().get(0).isHealthy());
            try (Lease next = client.lock("held").acquire(PATIENCE)) {
                assertThat(next.token()).isGreaterThan(held.token());
            }
            client.lock("orders").acquire(PATIENCE).close();
            bystanders.assertHeld();
        }
    }

    private static void writeUntilItEnds(EtcdServer server) throws Exception {
        try (Client etcd =
                Client.builder().endpoints(server.nodes().get(0).endpoint()).build()) {
            ByteSequence key = ByteSequence.from("filler", StandardCharsets.UTF_8);
            ByteSequence value = ByteSequence.from("x".repeat(PIECE), StandardCharsets.UTF_8);
            for (int i = 0; i < PIECES && server.nodes().get(0).isHealthy(); i++) {
                etcd.getKVClient().put(key, value).get(5, TimeUnit.SECONDS);
            }
        } catch (ExecutionException | TimeoutException noAnswer) {
            // As expected of a node that ends.
        }
        await("the node has ended")
                .atMost(PATIENCE)
                .until(() -> !server.nodes().get(0).process().isAlive());
    }
}
