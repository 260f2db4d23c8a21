package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.fault.ForwardingBackend;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/**
 * Waiting for a signal means that the store is not asked anything for a while: longer than a request may take, and all the
 * time that a second waiter of the same client waits. That the store has been silent recently is then no failure.
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

    /**
     * On a backend that blocks, an attempt has no more time than its waiter. Cut off by that, it says nothing about the store,
     * even if the last answer is long ago.
     */
    @Test
    void attemptCutOffByTheDeadline_isBusyAndNotUnavailable() throws Exception {
        MemoryStore store = MemoryStore.create();
        CutOff backend = new CutOff(store.newBackend(), 1_200);
        try (LockClient other = store.newClient(LockClientOptions.defaults());
                Lease held = other.lock("quiet").acquire();
                LockClient client = LockEngine.client(
                        backend,
                        LockClientOptions.builder()
                                .requestTimeout(Duration.ofMillis(500))
                                .build())) {
            assertThat(client.lock("quiet").tryAcquire(Duration.ofMillis(1_500)))
                    .isEmpty();
            assertThat(held.isValid()).isTrue();
        }
    }

    /** Who has come for a moment, during an attempt that another one's deadline cuts off, learns from the next that it is busy. */
    @Test
    void attemptCutOffByAnothersDeadline_isNoAnswerForTheNextWaiter() throws Exception {
        MemoryStore store = MemoryStore.create();
        CutOff backend = new CutOff(store.newBackend(), 100);
        LockClientOptions patient = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(10))
                .build();
        try (LockClient other = store.newClient(LockClientOptions.defaults());
                Lease held = other.lock("quiet").acquire();
                LockClient client = LockEngine.client(backend, patient)) {
            CompletableFuture<Boolean> first = CompletableFuture.supplyAsync(() -> {
                try {
                    return client.lock("quiet")
                            .tryAcquire(Duration.ofMillis(3_000))
                            .isEmpty();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            await("the attempt that is cut off").until(() -> backend.attempts.get() == 2);

            assertThat(client.lock("quiet").tryAcquire(Duration.ofMillis(1))).isEmpty();

            assertThat(backend.attempts).hasValue(3);
            assertThat(first).succeedsWithin(Duration.ofMinutes(1)).isEqualTo(true);
            assertThat(held.isValid()).isTrue();
        }
    }

    /** Answers all attempts but the second, which a signal makes, and which takes all the time it has until the deadline. */
    private static final class CutOff extends ForwardingBackend {
        private static final BackendInfo INFO = BackendInfo.named("cut off")
                .blocking(true)
                .minLeaseMillis(1)
                .pollMinMillis(60_000)
                .pollMaxMillis(60_000)
                .build();

        private final AtomicInteger attempts = new AtomicInteger();
        private final long signalMillis;

        CutOff(LockBackend delegate, long signalMillis) {
            super(delegate);
            this.signalMillis = signalMillis;
        }

        @Override
        public BackendInfo info() {
            return INFO;
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            if (attempts.incrementAndGet() != 2) {
                return super.tryAcquire(request);
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(request.timeoutMillis()));
            return CompletableFuture.failedStage(new LockUnavailableException("the deadline has passed"));
        }

        @Override
        public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
            // Not in the common pool: on Java 25 and two processors, a waiting caller of the test has its only thread.
            CompletableFuture.delayedExecutor(signalMillis, TimeUnit.MILLISECONDS, task -> new Thread(task).start())
                    .execute(onMaybeFree);
            return super.subscribe(ticket, onMaybeFree);
        }
    }
}
