package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What is looked after goes on being looked after. No database. */
class LookoutTest {
    private static final long EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long PATIENCE_SECONDS = 30;

    @Test
    void lookThatFails_orHasNoThread_isMadeAgain() throws Exception {
        AtomicInteger hands = new AtomicInteger();
        Executor executor = task -> {
            switch (hands.incrementAndGet()) {
                case 1 -> throw new RejectedExecutionException("too many tasks");
                case 2 -> throw new OutOfMemoryError("no thread, in a test");
                default -> ForkJoinPool.commonPool().execute(task);
            }
        };
        CountDownLatch looks = new CountDownLatch(3);
        Lookout lookout = new Lookout(EVERY_NANOS, executor, () -> {
            looks.countDown();
            if (looks.getCount() == 2) {
                throw new OutOfMemoryError("in a look, in a test");
            }
            return looks.getCount() > 0;
        });
        lookout.begin();
        assertThat(looks.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void nothingToLookAfter_endsTheLooks_untilTheNextBeginning() throws Exception {
        AtomicInteger looks = new AtomicInteger();
        CountDownLatch first = new CountDownLatch(1);
        CountDownLatch second = new CountDownLatch(2);
        CompletableFuture<Void> begunTwice = new CompletableFuture<>();
        Lookout lookout = new Lookout(EVERY_NANOS, begunTwice::thenRunAsync, () -> {
            looks.incrementAndGet();
            first.countDown();
            second.countDown();
            return false;
        });
        lookout.begin();
        lookout.begin();
        begunTwice.complete(null);
        assertThat(first.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        TimeUnit.MILLISECONDS.sleep(50);
        assertThat(looks).hasValue(1);
        lookout.begin();
        assertThat(second.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void end_thereAreNoMoreLooks() throws Exception {
        AtomicInteger looks = new AtomicInteger();
        Lookout lookout = new Lookout(EVERY_NANOS, Runnable::run, () -> looks.incrementAndGet() > 0);
        lookout.end();
        lookout.begin();
        TimeUnit.MILLISECONDS.sleep(50);
        assertThat(looks).hasValue(0);
    }
}
