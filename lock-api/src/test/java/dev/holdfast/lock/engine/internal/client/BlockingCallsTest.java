package dev.holdfast.lock.engine.internal.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.internal.queue.Virtual;
import dev.holdfast.lock.spi.BackendInfo;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A thread waits for an answer for up to the request time-out, interrupted or not. */
@Timeout(60)
class BlockingCallsTest {
    private static BlockingCalls calls(long timeoutMillis) {
        return new Virtual(LockClientOptions.builder()
                        .requestTimeout(Duration.ofMillis(timeoutMillis))
                        .build())
                .client.calls();
    }

    private static CompletableFuture<Void> soon(Runnable what) {
        return CompletableFuture.runAsync(what, CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS));
    }

    private static void fail() {
        throw new IllegalStateException("on purpose");
    }

    @Test
    void answer_whetherGoodOrBad_endsTheWait() {
        BlockingCalls calls = calls(30_000);
        assertThat(calls.await(soon(() -> {}))).isTrue();
        assertThat(calls.await(soon(BlockingCallsTest::fail))).isTrue();
        assertThat(calls.await(CompletableFuture.completedFuture(null))).isTrue();
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void noAnswer_endsTheWaitAtTheTimeOut() {
        long start = System.nanoTime();
        assertThat(calls(100).await(new CompletableFuture<>())).isFalse();
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(100_000_000L);
    }

    @Test
    void interrupt_neitherEndsTheWait_norIsLost() {
        Thread.currentThread().interrupt();
        assertThat(calls(30_000).await(soon(() -> {}))).isTrue();
        assertThat(Thread.interrupted()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void release_isWaitedFor_asLongAsARequestMayTake(boolean ofThread) throws InterruptedException {
        Virtual virtual = new Virtual(LockClientOptions.builder()
                .requestTimeout(Duration.ofMillis(40))
                .build());
        DistributedLock lock = virtual.client.lock("n");
        Lease lease = ofThread ? null : lock.acquire();
        if (lease == null) {
            lock.lock();
        }
        virtual.backend.silent = true;
        long start = System.nanoTime();
        if (lease == null) {
            lock.unlock();
        } else {
            lease.close();
        }
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(40_000_000L);
        assertThat(virtual.backend.removals).isEqualTo(1);
    }

    // ---- queries

    /** Leaves queries unanswered or fails them; records their time-outs. */
    private static final class Asked extends OutageBackend {
        final List<Long> timeouts = new ArrayList<>();

        Asked(LongSupplier clock) {
            super(false, false, clock);
        }

        @Override
        public BackendInfo info() {
            return super.info().toBuilder()
                    .listing(true)
                    .demands(EnumSet.allOf(Demand.Kind.class))
                    .build();
        }

        private <T> CompletionStage<T> asked(long timeoutMillis) {
            timeouts.add(timeoutMillis);
            return failure == null ? new CompletableFuture<>() : CompletableFuture.failedFuture(failure.get());
        }

        @Override
        public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
            return asked(timeoutMillis);
        }

        @Override
        public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
            return asked(timeoutMillis);
        }

        @Override
        public CompletionStage<LockListing> list(String prefix, int limit, long timeoutMillis) {
            return asked(timeoutMillis);
        }

        @Override
        public CompletionStage<List<StoreFinding>> examine(long timeoutMillis) {
            return asked(timeoutMillis);
        }

        @Override
        public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
            return asked(timeoutMillis);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void question_withoutAnAnswer_orThatFails_isUnavailable_andSaysWhatWasAsked(boolean silent) {
        Virtual virtual = new Virtual(
                LockClientOptions.builder()
                        .requestTimeout(Duration.ofMillis(10))
                        .build(),
                Asked::new);
        virtual.backend.failure = silent ? null : OutageBackend::unreachable;
        EngineClient client = virtual.client;
        Map<Runnable, String> questions = Map.of(
                () -> client.holder("n"),
                "lock 'n'",
                () -> client.holders("n"),
                "lock 'n'",
                () -> client.list("or", 5),
                "lock 'or*'",
                client::examine,
                "lock '*'",
                () -> client.semaphore("s", 1).changeLimit(2),
                "lock 's'");
        questions.forEach((question, asked) -> assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(question::run)
                .withMessage(asked
                        + (silent
                                ? ": the store did not answer within " + (asked.endsWith("or*'") ? 210 : 10)
                                        + " ms; check that it is reachable"
                                : ": connection refused")));
        assertThat(((Asked) virtual.backend).timeouts).containsExactly(10L, 10L, 10L, 10L, 10L);
    }
}
