package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockTimeoutException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Waiting for a signal means that the store is not asked anything for a while: longer than a request may take, and all the
 * time that a second waiter of the same client waits. That the store has said nothing lately is then no failure.
 */
final class QuietWaitTest {
    private static final LockClientOptions IMPATIENT =
            LockClientOptions.builder().requestTimeout(Duration.ofMillis(50)).build();

    @Test
    void deadlineLongAfterTheLastAnswer_isBusyAndNotUnavailable() throws Exception {
        MemoryStore store = MemoryStore.create();
        try (LockClient other = store.newClient(LockClientOptions.defaults());
                Lease held = other.lock("quiet").acquire();
                LockClient client = store.newClient(IMPATIENT)) {
            assertThat(client.lock("quiet").tryAcquire(Duration.ofMillis(400))).isEmpty();
            assertThat(held.isValid()).isTrue();
        }
    }

    @Test
    void secondWaiterOfAClient_isBusyAndNotUnavailable() throws Exception {
        MemoryStore store = MemoryStore.create();
        try (LockClient other = store.newClient(LockClientOptions.defaults());
                Lease held = other.lock("quiet").acquire();
                LockClient client = store.newClient(IMPATIENT)) {
            CompletableFuture<Lease> first = client.lock("quiet").acquireAsync(Duration.ofMinutes(5));
            TimeUnit.MILLISECONDS.sleep(100); // past the answer to the first one's attempt
            CompletableFuture<Lease> second = client.lock("quiet").acquireAsync(Duration.ofMillis(20));
            assertThat(second)
                    .failsWithin(Duration.ofMinutes(1))
                    .withThrowableOfType(java.util.concurrent.ExecutionException.class)
                    .withCauseInstanceOf(LockTimeoutException.class);
            assertThat(held.isValid()).isTrue();
            first.cancel(false);
        }
    }
}
