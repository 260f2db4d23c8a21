package dev.holdfast.lock.engine.internal.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Who is told that a task is not run for want of memory. */
class TimerThreadTest {
    private final AtomicBoolean full = new AtomicBoolean(true);

    /** Otherwise an acquisition would wait for a poll that never comes, and its name would be dead for ever. */
    @Test
    void noMemoryForTheTask_theCallerIsTold() throws Exception {
        TimerThread timer = new TimerThread(Thread::new) {
            @Override
            protected <V> RunnableScheduledFuture<V> decorateTask(Runnable task, RunnableScheduledFuture<V> future) {
                if (full.get()) {
                    throw new OutOfMemoryError("on purpose");
                }
                return super.decorateTask(task, future);
            }
        };
        try {
            assertThatThrownBy(() -> timer.after(0, () -> {})).isInstanceOf(OutOfMemoryError.class);
            full.set(false);
            CountDownLatch run = new CountDownLatch(1);
            timer.after(0, run::countDown);
            assertThat(run.await(1, TimeUnit.MINUTES)).isTrue();
        } finally {
            timer.shutdownNow();
        }
    }

    @Test
    void noMemoryForTheThread_theTaskRunsWithTheNextOne() throws Exception {
        TimerThread timer = new TimerThread(task -> {
            if (full.get()) {
                throw new OutOfMemoryError("unable to create native thread, on purpose");
            }
            return new Thread(task);
        });
        try {
            CountDownLatch run = new CountDownLatch(2);
            assertThat(timer.after(0, run::countDown)).isNotNull();
            full.set(false);
            timer.after(0, run::countDown);
            assertThat(run.await(1, TimeUnit.MINUTES)).isTrue();
        } finally {
            timer.shutdownNow();
        }
    }

    @Test
    void closed_theTaskIsNotRun_andNobodyFails() {
        TimerThread timer = new TimerThread(Thread::new);
        timer.shutdownNow();
        timer.after(0, () -> {}).close();
        assertThat(timer.getQueue()).isEmpty();
    }
}
