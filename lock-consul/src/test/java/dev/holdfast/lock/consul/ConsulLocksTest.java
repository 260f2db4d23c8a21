package dev.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.BackendDriver;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** What the settings of a client are to Consul. */
final class ConsulLocksTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** A holder whose session is ended early counts on its lock until its lease is over. */
    @Test
    void lockDelay_isTheLease_butNotMoreThanConsulTakes() throws Exception {
        Queue<String> sessions = new ConcurrentLinkedQueue<>();
        try (FakeAgent agent = new FakeAgent((path, body) -> {
                    if (path.startsWith("/v1/session/create")) {
                        sessions.add(body);
                    }
                    return "500 not here";
                });
                LockBackend backend = ConsulLocks.builder(HttpClient.newHttpClient(), agent.address())
                        .backend()) {
            for (long leaseMillis : new long[] {30_000, 300_000}) {
                assertThat(BackendDriver.of(backend, "a", leaseMillis).send(0).toCompletableFuture())
                        .failsWithin(PATIENCE)
                        .withThrowableOfType(ExecutionException.class);
            }
        }
        assertThat(sessions).hasSize(2);
        assertThat(sessions.remove()).contains("\"TTL\":\"30000ms\"", "\"LockDelay\":\"30000ms\"");
        assertThat(sessions.remove()).contains("\"TTL\":\"300000ms\"", "\"LockDelay\":\"60000ms\"");
    }
}
