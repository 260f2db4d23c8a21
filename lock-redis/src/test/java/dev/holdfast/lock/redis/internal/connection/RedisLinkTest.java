package dev.holdfast.lock.redis.internal.connection;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.redis.RedisInternals;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.RedisServer;
import io.lettuce.core.RedisClient;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The link to a server that has become the wrong one. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisLinkTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int STORM = 50;

    private RedisServer server;

    @BeforeAll
    void start() throws Exception {
        server = RedisServer.start();
    }

    @AfterAll
    void stop() {
        server.close();
    }

    @Test
    void readOnlyAnswers_ownClient_replaceTheLinkOnce() throws Exception {
        try (LockBackend backend = RedisInternals.backend(
                RedisInternals.builder(OwnedConnectionFactory.connect(uri(), Duration.ofSeconds(20))))) {
            readOnlyAnswers_replaceTheLinkOnce(backend);
        }
    }

    @Test
    void readOnlyAnswers_applicationsDefaultClient_replaceTheLinkOnce() throws Exception {
        RedisClient client = RedisClient.create(uri());
        try (LockBackend backend = RedisInternals.backend(RedisLocks.builder(client))) {
            readOnlyAnswers_replaceTheLinkOnce(backend);
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    private void readOnlyAnswers_replaceTheLinkOnce(LockBackend backend) throws Exception {
        release(backend, Attempts.grant(backend, acquisition("warm")));
        server.command("CONFIG", "RESETSTAT");
        server.command("REPLICAOF", "127.0.0.1", "1");
        try {
            List<CompletableFuture<AcquireResult>> attempts = new ArrayList<>();
            for (int i = 0; i < STORM; i++) {
                attempts.add(tryAcquire(backend, "storm" + i));
            }
            await().atMost(PATIENCE)
                    .until(() -> attempts.stream().allMatch(CompletableFuture::isCompletedExceptionally));
        } finally {
            server.command("REPLICAOF", "NO", "ONE");
        }
        long start = System.nanoTime();
        AcquisitionId after = acquisition("after" + start);
        await().pollInterval(Duration.ofMillis(5))
                .atMost(PATIENCE)
                .ignoreExceptions()
                .until(() -> Attempts.tryAcquire(backend, after, 0, false, null) instanceof AcquireResult.Granted);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
        assertThat(stat("cmdstat_quit:calls=(\\d+)")).as("QUIT").isZero();
        assertThat(stat("cmdstat_hello:calls=(\\d+)")).as("links made").isBetween(1L, STORM / 5L);
    }

    private static CompletableFuture<AcquireResult> tryAcquire(LockBackend backend, String name) {
        return backend.tryAcquire(new AcquireRequest(
                        acquisition(name),
                        Attempts.LEASE_MILLIS,
                        0,
                        false,
                        null,
                        BackendDriver.TIMEOUT_MILLIS,
                        BackendDriver.IDENTITY))
                .toCompletableFuture();
    }

    private static AcquisitionId acquisition(String name) {
        return BackendDriver.newAcquisition(name);
    }

    private long stat(String pattern) throws IOException {
        Matcher found = Pattern.compile(pattern)
                .matcher(server.command("INFO", "stats") + "\n" + server.command("INFO", "commandstats"));
        return found.find() ? Long.parseLong(found.group(1)) : 0;
    }

    private String uri() {
        return "redis://" + server.host() + ":" + server.port();
    }
}
