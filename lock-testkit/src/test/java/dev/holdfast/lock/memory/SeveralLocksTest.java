package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.MultiLease;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.testkit.fault.ForwardingBackend;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class SeveralLocksTest {
    private static final Duration REQUEST = Duration.ofMillis(400);
    private static final int NAMES = 20;

    private static LockClientOptions options() {
        return LockClientOptions.builder()
                .requestTimeout(REQUEST)
                .lockOptions(LockOptions.builder().lease(Duration.ofSeconds(2)).build())
                .build();
    }

    @Test
    @DisplayName("Twenty locks are released together: a store that does not answer costs one request time-out")
    void close_whileTheStoreIsSilent_waitsOnce() throws Exception {
        ForwardingBackend silent = new ForwardingBackend(MemoryStore.create().newBackend()) {
            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                return new CompletableFuture<>();
            }
        };
        try (LockClient client = LockEngine.client(silent, options())) {
            String[] names = IntStream.range(0, NAMES).mapToObj(i -> "n" + i).toArray(String[]::new);
            MultiLease all = client.lockAll(names).acquire();
            long startNanos = System.nanoTime();
            all.close();
            Duration took = Duration.ofNanos(System.nanoTime() - startNanos);

            assertThat(took).isGreaterThanOrEqualTo(REQUEST).isLessThan(REQUEST.multipliedBy(NAMES / 2));
        }
    }

    @Test
    @DisplayName("Several locks are acquired with a future: all, or none if one is busy or the future is cancelled")
    void acquireAsync_ofSeveral_isAllOrNothing() throws Exception {
        MemoryStore store = MemoryStore.create();
        try (LockClient client = store.newClient(options());
                LockClient other = store.newClient(options())) {
            MultiLease all = client.lockAll("b", "a").acquireAsync().get(20, TimeUnit.SECONDS);
            assertThat(all.names()).containsExactly("a", "b");
            assertThat(all.isValid()).isTrue();
            all.close();

            try (Lease busy = other.lock("b").acquire()) {
                assertThat(busy.isValid()).isTrue();
                assertThat(client.lockAll("a", "b").acquireAsync(Duration.ofMillis(50)))
                        .failsWithin(Duration.ofSeconds(20))
                        .withThrowableOfType(ExecutionException.class)
                        .withCauseInstanceOf(LockTimeoutException.class);
                assertThat(other.lock("a").tryAcquire()).as("released").hasValueSatisfying(Lease::close);

                CompletableFuture<MultiLease> waiting = client.lockAll("a", "b").acquireAsync();
                Waits.until(
                        "a is held",
                        () -> other.lock("a")
                                .tryAcquire()
                                .map(lease -> {
                                    lease.close();
                                    return false;
                                })
                                .orElse(true));
                waiting.cancel(false);
                Waits.until("a is released", () -> client.held().isEmpty());
            }
        }
    }

    @Test
    @DisplayName("A dropped multi-lease is found, and so is a lease that its own lost() stage mentions")
    void droppedLeases_areFound() throws Exception {
        try (LockClient client = MemoryStore.create().newClient(options())) {
            drop(client);
            Waits.untilCollected("nothing is held", () -> client.held().isEmpty());
        }
    }

    /** A method of its own, so that no frame keeps the leases. */
    private static void drop(LockClient client) throws Exception {
        client.lockAll("a", "b").acquire();
        MultiLease all = client.lockAll("c", "d").acquire();
        all.lost().thenAccept(loss -> assertThat(all.isValid()).isFalse());
        Lease lease = client.lock("e").acquire();
        lease.lost().thenAccept(reason -> assertThat(lease.isValid()).isFalse());
        assertThat(client.held()).hasSize(5);
    }
}
