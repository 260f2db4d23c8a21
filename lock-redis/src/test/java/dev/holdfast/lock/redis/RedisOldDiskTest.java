package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What a disk that does not sync leaves after a power cut: a server that starts again with files from before a grant. */
@House("restores:older")
final class RedisOldDiskTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void grantThatTheDiskHasNot_isReportedLost_andTokensRise() throws Exception {
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(5))
                .lockOptions(LockOptions.builder().lease(Duration.ofSeconds(15)).build())
                .build();
        try (RedisServer server = RedisServer.start("--appendonly", "yes", "--appendfsync", "always");
                LockClient a = LockClient.connect("redis://" + server.host() + ":" + server.port(), options);
                LockClient b = LockClient.connect("redis://" + server.host() + ":" + server.port(), options)) {
            try (Lease first = a.lock("orders").acquire(PATIENCE)) {
                assertThat(first.isValid()).isTrue();
            }
            server.process().environment().run("cp", "-a", "appendonlydir", "old");
            Lease held = a.lock("orders").acquire(PATIENCE);
            assertThat(b.lock("orders").tryAcquire()).as("while it is held").isEmpty();

            server.process().kill();
            server.process().environment().run("rm", "-r", "appendonlydir");
            server.process().environment().run("mv", "old", "appendonlydir");
            server.process().start();

            LossReason reason = held.lost().toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertThat(reason).isEqualTo(LossReason.REVOKED);
            try (Lease next = b.lock("orders").acquire(PATIENCE)) {
                assertThat(next.token()).isGreaterThan(held.token());
            }
        }
    }
}
