package dev.holdfast.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** What cancelling means for a stage that depends on an acquisition, and for the example's way. */
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

    @Test
    void underLock_cancelled_abandons() throws Exception {
        try (LockClient client = LockClient.connect("memory:async-under-lock")) {
            DistributedLock lock = client.lock("x");
            CompletableFuture<Long> result;
            try (Lease held = lock.acquire()) {
                result = AsyncLock.underLock(lock, token -> token, ForkJoinPool.commonPool());

                assertThat(result.cancel(false)).isTrue();

                assertThat(held.isValid()).isTrue();
                assertThat(client.held())
                        .singleElement()
                        .extracting(usage -> usage.waiters().size())
                        .isEqualTo(0);
            }
            assertThat(AsyncLock.underLock(lock, token -> token, ForkJoinPool.commonPool())
                            .get(1, TimeUnit.MINUTES))
                    .isPositive();
            assertThat(AsyncLock.underLock(lock, token -> 1 / (token - token), ForkJoinPool.commonPool()))
                    .failsWithin(Duration.ofMinutes(1))
                    .withThrowableThat()
                    .withRootCauseInstanceOf(ArithmeticException.class);
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> client.held().isEmpty());
        }
    }
}
