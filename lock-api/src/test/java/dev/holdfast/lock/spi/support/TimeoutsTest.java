package dev.holdfast.lock.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class TimeoutsTest {
    private final Timeouts timeouts = new Timeouts();

    @Test
    void shorterDeadline_afterALongerOne_isMet() {
        CompletableFuture<String> longer = new CompletableFuture<>();
        CompletableFuture<String> shorter = new CompletableFuture<>();
        timeouts.start(longer, 600_000);
        timeouts.start(shorter, 20);
        assertFails(shorter);
        CompletableFuture<String> later = new CompletableFuture<>();
        timeouts.start(later, 20);
        assertFails(later);
        assertThat(longer).isNotDone();
        longer.complete("in time");
        timeouts.cancel(longer);
    }

    @Test
    void longerDeadline_afterAShorterOne_isMet() {
        CompletableFuture<String> shorter = new CompletableFuture<>();
        CompletableFuture<String> longer = new CompletableFuture<>();
        timeouts.start(shorter, 10);
        timeouts.start(longer, 60);
        assertFails(shorter);
        assertFails(longer);
    }

    /** Otherwise no later request would ever fail. */
    @Test
    void noMemoryForTheTask_theNextRequestSchedulesOne() {
        AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 100);
        List<Runnable> tasks = new ArrayList<>();
        AtomicBoolean full = new AtomicBoolean(true);
        Timeouts scripted = new Timeouts(nanos::get, (delay, task) -> {
            if (full.get()) {
                throw new OutOfMemoryError("on purpose");
            }
            tasks.add(task);
        });
        CompletableFuture<String> first = new CompletableFuture<>();
        CompletableFuture<String> second = new CompletableFuture<>();
        scripted.start(first, 10);
        assertThat(first).isNotDone();
        full.set(false);
        scripted.start(second, 10);
        assertThat(tasks).hasSize(1);
        nanos.addAndGet(10_000_000);
        tasks.get(0).run();
        assertFails(first);
        assertFails(second);
    }

    @Test
    void taskHasNotRunForASecond_theNextRequestSchedulesAnother_andTheLateOneDoesNothing() {
        AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 100);
        List<Runnable> tasks = new ArrayList<>();
        Timeouts scripted = new Timeouts(nanos::get, (delay, task) -> tasks.add(task));
        CompletableFuture<String> first = new CompletableFuture<>();
        scripted.start(first, 10);
        nanos.addAndGet(10_000_000 + 999_999_999);
        scripted.start(new CompletableFuture<>(), 10);
        assertThat(tasks).as("one that may only be late").hasSize(1);
        nanos.incrementAndGet();
        CompletableFuture<String> third = new CompletableFuture<>();
        scripted.start(third, 10);
        assertThat(tasks).hasSize(2);
        tasks.get(0).run();
        assertThat(first).isNotDone();
        nanos.addAndGet(10_000_000);
        tasks.get(1).run();
        assertFails(first);
        assertFails(third);
    }

    @Test
    void noMemoryToFail_itFailsAtTheNextLook() {
        AtomicLong nanos = new AtomicLong();
        List<Runnable> tasks = new ArrayList<>();
        Timeouts scripted = new Timeouts(nanos::get, (delay, task) -> tasks.add(task));
        AtomicBoolean full = new AtomicBoolean(true);
        CompletableFuture<String> request = new CompletableFuture<>() {
            @Override
            public boolean completeExceptionally(Throwable failure) {
                if (full.getAndSet(false)) {
                    throw new OutOfMemoryError("on purpose");
                }
                return super.completeExceptionally(failure);
            }
        };
        scripted.start(request, 10);
        nanos.addAndGet(10_000_000);
        assertThatThrownBy(tasks.get(0)::run).isInstanceOf(OutOfMemoryError.class);
        assertThat(request).isNotDone();
        scripted.start(new CompletableFuture<>(), 10);
        nanos.addAndGet(10_000_000);
        tasks.get(1).run();
        assertFails(request);
    }

    @Test
    void deadline_isInMilliseconds_andNothingFailsBeforeIt() {
        CompletableFuture<String> future = new CompletableFuture<>();
        CompletableFuture<Long> failedAt = future.handle((answer, failure) -> System.nanoTime());
        long startNanos = System.nanoTime();
        timeouts.start(future, 30);

        assertThat(failedAt).succeedsWithin(Duration.ofSeconds(10));
        assertThat(failedAt.join() - startNanos).isGreaterThanOrEqualTo(30_000_000);
        assertThatThrownBy(future::join).hasRootCauseMessage("no answer in time");
    }

    @Test
    void manyThreads_everyDeadlineIsMet_alsoBetweenOthersThatEndInTime() throws Exception {
        int threads = 4;
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Callable<List<CompletableFuture<String>>>> work = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                work.add(() -> {
                    List<CompletableFuture<String>> unanswered = new ArrayList<>();
                    for (int i = 0; i < 2_000; i++) {
                        CompletableFuture<String> future = new CompletableFuture<>();
                        timeouts.start(future, i % 2 == 0 ? 1 + i % 40 : 600_000);
                        if (i % 2 == 0) {
                            unanswered.add(future);
                        } else {
                            future.complete("in time");
                            timeouts.cancel(future);
                        }
                    }
                    return unanswered;
                });
            }
            for (Future<List<CompletableFuture<String>>> each : pool.invokeAll(work)) {
                each.get().forEach(TimeoutsTest::assertFails);
            }
        } finally {
            pool.shutdownNow();
        }
    }

    private static void assertFails(CompletableFuture<String> future) {
        assertThatThrownBy(() -> future.get(60, TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(TimeoutException.class);
    }
}
