package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TransferQueue;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every task is run, also one that comes in the moment in which the last idle thread ends. */
final class ThreadsTest {
    private static final int KEEP_MICROS = 50;

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void atMost_threadsEndAllTheTime_noTaskIsStranded(int threads) throws InterruptedException {
        ExecutorService executor = Threads.atMost(threads, "test-", Duration.ofNanos(KEEP_MICROS * 1_000L));
        try {
            long untilNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.getLong("stress", 1));
            while (System.nanoTime() - untilNanos < 0) {
                CountDownLatch run = new CountDownLatch(threads);
                for (int i = 0; i < threads; i++) {
                    executor.execute(run::countDown);
                }
                assertThat(run.await(10, TimeUnit.SECONDS))
                        .as("all tasks were run")
                        .isTrue();
                LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(4L * KEEP_MICROS * 1_000));
            }
        } finally {
            executor.shutdownNow();
        }
    }

    @Test
    void atMost_tasksOneAfterTheOther_takeOneThread() throws Exception {
        ThreadPoolExecutor executor = (ThreadPoolExecutor) Threads.atMost(4, "test-");
        try {
            for (int i = 0; i < 4; i++) {
                executor.submit(() -> true).get(10, TimeUnit.SECONDS);
                await().until(() -> ((TransferQueue<?>) executor.getQueue()).hasWaitingConsumer());
            }
            assertThat(executor.getPoolSize()).isOne();
        } finally {
            executor.shutdownNow();
        }
    }

    /** They do not keep a JVM alive, and their names say where they belong. */
    @Test
    void threads_areDaemons_countedByTheirPrefix_andKnownAsOurs() throws Exception {
        assertThat(Threads.isOurs()).isFalse();
        ExecutorService bounded = Threads.atMost(2, "bounded-");
        ExecutorService unbounded = Threads.unbounded("unbounded-");
        CountDownLatch hang = new CountDownLatch(1);
        try {
            for (ExecutorService each : List.of(bounded, unbounded)) {
                List<Future<Thread>> busy = new ArrayList<>();
                for (int i = 0; i < (each == bounded ? 2 : 5); i++) {
                    busy.add(each.submit(() -> {
                        hang.await();
                        return Threads.isOurs() ? Thread.currentThread() : null;
                    }));
                }
                hang.countDown();
                for (int i = 0; i < busy.size(); i++) {
                    Thread thread = busy.get(i).get(30, TimeUnit.SECONDS);
                    assertThat(thread).isNotNull();
                    assertThat(thread.isDaemon()).isTrue();
                    assertThat(thread.getName()).matches((each == bounded ? "bounded-" : "unbounded-") + "[1-5]");
                }
            }
            CompletableFuture<Boolean> ours = new CompletableFuture<>();
            Thread started = Threads.start("alone", () -> ours.complete(Threads.isOurs()));
            assertThat(ours.get(30, TimeUnit.SECONDS)).isTrue();
            assertThat(started.isDaemon()).isTrue();
            assertThat(started.getName()).isEqualTo("alone");
        } finally {
            hang.countDown();
            bounded.shutdownNow();
            unbounded.shutdownNow();
        }
    }

    /** What hangs does not keep others waiting: something else bounds their number. */
    @Test
    void unbounded_hasAThreadForEachTask_idleOnesEndAfterTenSeconds() throws Exception {
        ThreadPoolExecutor unbounded = (ThreadPoolExecutor) Threads.unbounded("test-");
        ThreadPoolExecutor bounded = (ThreadPoolExecutor) Threads.atMost(3, "test-");
        try {
            CountDownLatch all = new CountDownLatch(40);
            for (int i = 0; i < 40; i++) {
                unbounded.execute(() -> {
                    all.countDown();
                    awaitQuietly(all);
                });
            }
            assertThat(all.await(30, TimeUnit.SECONDS)).as("all run at once").isTrue();
            for (ThreadPoolExecutor each : List.of(unbounded, bounded)) {
                assertThat(each.getKeepAliveTime(TimeUnit.SECONDS)).isEqualTo(10);
                assertThat(each.allowsCoreThreadTimeOut() || each.getCorePoolSize() == 0)
                        .isTrue();
            }
            assertThat(bounded.getMaximumPoolSize()).isEqualTo(3);
        } finally {
            unbounded.shutdownNow();
            bounded.shutdownNow();
        }
    }

    @Test
    void atMost_afterTheEnd_refuses() {
        ExecutorService executor = Threads.atMost(1, "test-");
        executor.shutdown();
        assertThatThrownBy(() -> executor.execute(() -> {})).isInstanceOf(RejectedExecutionException.class);
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
