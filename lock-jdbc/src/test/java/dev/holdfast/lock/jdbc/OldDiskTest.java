package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.PostgresServer;
import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * What a disk that does not sync leaves after a power cut: a database that starts again with files from before a grant. Its
 * holder learns of it; that tokens rise is not promised then.
 */
@House("restores:older")
final class OldDiskTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void grantThatTheDiskHasNot_isReportedLost() throws Exception {
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(5))
                .lockOptions(LockOptions.builder().lease(Duration.ofSeconds(15)).build())
                .build();
        try (PostgresServer server = PostgresServer.start()) {
            String url = server.url() + "?user=" + PostgresServer.USER + "&password=" + PostgresServer.PASSWORD;
            try (LockClient a = LockClient.connect(url + "&holdfast.createTable=true", options);
                    LockClient b = LockClient.connect(url, options)) {
                Lease first = a.lock("orders").acquire(PATIENCE);
                first.close();
                ServerEnvironment environment = server.process().environment();
                server.process().kill();
                environment.run("cp", "-a", "data", "old");
                server.process().start();
                Lease held = a.lock("orders").acquire(PATIENCE);
                assertThat(b.lock("orders").tryAcquire()).as("while it is held").isEmpty();

                server.process().kill();
                environment.run("rm", "-r", "data");
                environment.run("mv", "old", "data");
                server.process().start();

                LossReason reason = held.lost().toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                assertThat(reason).isEqualTo(LossReason.REVOKED);
                try (Lease next = b.lock("orders").acquire(PATIENCE)) {
                    assertThat(next.token()).isGreaterThan(first.token());
                }
            }
        }
    }
}
