package dev.holdfast.lock.zookeeper.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.support.LogCapture;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The one thread of a backend. No server. */
class TimerTest {
    private static final long PATIENCE_SECONDS = 30;

    private static long in(long seconds) {
        return System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    }

    @Test
    void action_thatFails_isWarnedOf_andTheNextOneRuns() throws Exception {
        Timer timer = new Timer(unused -> {});
        try (LogCapture log = new LogCapture()) {
            timer.after(0, () -> {
                throw new IllegalStateException("failed");
            });
            CompletableFuture<Thread> ran = new CompletableFuture<>();
            timer.after(1, () -> ran.complete(Thread.currentThread()));
            Thread thread = ran.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertThat(thread.getName()).isEqualTo("holdfast-zookeeper-timer");
            assertThat(thread.isDaemon()).isTrue();
            assertThat(log.ours())
                    .singleElement()
                    .asString()
                    .contains(
                            " WARN ",
                            "a delayed action of the ZooKeeper lock backend failed; it is tried again at the next occasion");
        } finally {
            timer.stop();
        }
    }

    /** A later sweep does not delay one that is due, and each sweep may schedule the next. */
    @Test
    void sweep_runsByTheEarliestTime_andAgain() throws Exception {
        AtomicInteger sweeps = new AtomicInteger();
        CountDownLatch three = new CountDownLatch(3);
        Timer timer = new Timer(running -> {
            sweeps.incrementAndGet();
            three.countDown();
            if (three.getCount() > 0) {
                running.sweepBy(System.nanoTime());
            } else {
                running.sweepBy(in(3_600));
            }
        });
        timer.sweepBy(in(3_600));
        timer.sweepBy(in(7_200));
        timer.sweepBy(System.nanoTime() - 1);
        assertThat(three.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        timer.sweepBy(in(7_200));
        CountDownLatch after = new CountDownLatch(1);
        timer.after(1, after::countDown);
        assertThat(after.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(sweeps).hasValue(3);
        timer.stop();
    }

    @Test
    void sweep_withoutMemory_isMadeAgain() throws Exception {
        CountDownLatch two = new CountDownLatch(2);
        Timer timer = new Timer(running -> {
            two.countDown();
            if (two.getCount() == 1) {
                throw new OutOfMemoryError("in a test");
            }
        });
        timer.sweepBy(System.nanoTime());
        assertThat(two.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        timer.stop();
    }

    @Test
    void stop_dropsWhatIsPlanned_andWhatComesLater() throws Exception {
        AtomicBoolean ran = new AtomicBoolean();
        CompletableFuture<Thread> first = new CompletableFuture<>();
        Timer timer = new Timer(unused -> ran.set(true));
        timer.after(0, () -> first.complete(Thread.currentThread()));
        Thread thread = first.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        timer.after(3_600_000, () -> ran.set(true));
        timer.sweepBy(in(3_600));
        try (LogCapture log = new LogCapture()) {
            timer.stop();
            timer.after(0, () -> ran.set(true));
            timer.sweepBy(System.nanoTime());
            thread.join(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
            assertThat(thread.isAlive()).as("its thread").isFalse();
            assertThat(log.ours()).isEmpty();
        }
        assertThat(ran).isFalse();
    }
}
