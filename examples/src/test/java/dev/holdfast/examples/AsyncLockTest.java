package dev.holdfast.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What cancelling means for a stage that depends on an acquisition. */
final class AsyncLockTest {

    @Test
    void cancellingADependentStage_doesNotAbandon() throws Exception {
        try (LockClient client = LockClient.connect("memory:async-dependent");
                Lease held = client.lock("x").acquire()) {
            CompletableFuture<Lease> lease = client.lock("x").acquireAsync(Duration.ofMinutes(1));
            CompletableFuture<Long> dependent = lease.thenApply(Lease::token);

            assertThat(dependent.cancel(false)).isTrue();

            assertThat(client.held())
                    .singleElement()
                    .extracting(usage -> usage.waiters().size())
                    .isEqualTo(1);
            held.close();
            assertThat(lease.get(1, TimeUnit.MINUTES).isValid())
                    .as("it would never be closed")
                    .isTrue();
            lease.join().close();
        }
    }
}
