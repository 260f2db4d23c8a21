package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
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
}
