package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The server comes back without its data, or with those of an older snapshot, while clients hold locks and wait. */
@House("restores:older")
final class RedisRestoreTest {
    private static final int NAMES = 14;
    /** Shorter than the leases: the waiters get what the restored server has as free, and do not wait for the holder. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private static final LockOptions LONG =
            LockOptions.builder().lease(Duration.ofMinutes(2)).build();

    @ParameterizedTest
    @CsvSource({"false", "true"})
    void waiters_areServedByTheRestoredServer_andHoldersNoticeTheLoss(boolean older) throws Exception {
        try (RedisServer server = RedisServer.start()) {
            String uri = "redis://" + server.host() + ":" + server.port();
            try (LockClient a = LockClient.connect(uri);
                    LockClient b = LockClient.connect(uri)) {
                for (int i = 0; i < NAMES; i++) {
                    a.lock("n" + i, LONG).acquire().close();
                }
                if (older) {
                    server.command("SAVE");
                }
                List<Lease> held = new ArrayList<>();
                List<CompletableFuture<Lease>> waiting = new ArrayList<>();
                for (int i = 0; i < NAMES; i++) {
                    held.add(a.lock("n" + i, LONG).acquire());
                    waiting.add(b.lock("n" + i, LONG)
                            .acquireAsync(Duration.ofMinutes(10))
                            .toCompletableFuture());
                }
                await().atMost(PATIENCE).until(() -> server.list("KEYS", "*:q").size() == NAMES);

                server.process().kill();
                server.process().start();

                CompletableFuture.allOf(waiting.toArray(CompletableFuture[]::new))
                        .get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                for (int i = 0; i < NAMES; i++) {
                    assertThat(waiting.get(i).join().token())
                            .isGreaterThan(held.get(i).token());
                }
                a.lock("another").acquire().close();
                assertThat(waiting).allMatch(each -> each.join().isValid());
            }
        }
    }
}
