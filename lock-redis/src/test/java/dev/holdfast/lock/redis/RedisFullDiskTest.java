package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.testkit.house.BystanderLocks;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.process.SmallDisk;
import dev.holdfast.lock.testkit.support.Waits;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A server whose disk is full refuses all that writes (MISCONF), renewals among them. */
@House("process:disk")
@Tag(House.SLOW)
final class RedisFullDiskTest {
    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void serverCannotWriteItsFile_locksAreLostForAReason_andWorkAgainWhenThereIsSpace() throws Exception {
        LockClientOptions options = LockClientOptions.builder()
                .unavailableTimeout(Duration.ofSeconds(2))
                .lockOptions(LockOptions.builder().lease(LEASE).build())
                .build();
        try (SmallDisk disk = SmallDisk.mount(8);
                RedisServer server = RedisServer.start(
                        "--dir", disk.folder().toString(), "--appendonly", "yes", "--appendfsync", "everysec");
                RedisServer another = RedisServer.start();
                LockClient client = LockClient.connect(uri(server), options);
                LockClient waiter = LockClient.connect(uri(server), options);
                LockClient elsewhere = LockClient.connect(uri(another), options);
                BystanderLocks bystanders = BystanderLocks.hold(elsewhere, 10, LEASE)) {
            Lease held = client.lock("held").acquire();
            CompletableFuture<Lease> waiting = waiter.lock("held").acquireAsync(PATIENCE.multipliedBy(2));
            disk.fill();
            Waits.until("the server refuses writes", () -> isRefused(server));

            LossReason reason = held.lost().toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertThat(reason).isEqualTo(LossReason.EXPIRED);
            assertThat(held.isValid()).isFalse();
            assertThatThrownBy(() -> client.lock("orders").acquire(Duration.ofSeconds(3)))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("orders")
                    .hasMessageContaining("MISCONF")
                    .hasMessageContaining("No space left on device");

            disk.free();
            try (Lease next = waiting.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                assertThat(next.token()).isGreaterThan(held.token());
            }
            client.lock("orders").acquire(PATIENCE).close();
            assertThatThrownBy(held::close)
                    .isInstanceOf(LeaseLostException.class)
                    .hasMessageContaining("No space left on device");
            client.lock("held").tryAcquire().orElseThrow().close();
            bystanders.assertHeld();
        }
    }

    private static String uri(RedisServer server) {
        return "redis://" + server.host() + ":" + server.port();
    }

    /** Redis finds out by writing. */
    private static boolean isRefused(RedisServer server) {
        try {
            server.command("SET", "filler", "x".repeat(1_000));
            return false;
        } catch (IOException e) {
            return String.valueOf(e.getMessage()).contains("MISCONF");
        }
    }
}
