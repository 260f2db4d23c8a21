package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread waits for an answer as long as a request may take, interrupted or not. */
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
}
