package dev.holdfast.lock.spi.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What becomes of a task for which there is no thread. */
class ClientThreadsTest {
    private final AtomicInteger takenBack = new AtomicInteger();

    @Test
    void threadRunsTheTask_andNothingIsTakenBack() throws InterruptedException {
        CountDownLatch run = new CountDownLatch(1);
        ClientThreads.start("holdfast-test", run::countDown, takenBack::incrementAndGet);
        assertThat(run.await(1, TimeUnit.MINUTES)).isTrue();
        assertThat(takenBack).hasValue(0);
    }

    @Test
    void noMemoryForTheThread_isTakenBack_andNothingIsThrown() {
        Thread cannotStart = new Thread() {
            @Override
            public void start() {
                throw new OutOfMemoryError("unable to create native thread, on purpose");
            }
        };
        ClientThreads.start(() -> cannotStart, takenBack::incrementAndGet);
        assertThat(takenBack).hasValue(1);
    }

    @Test
    void noMemoryForItsObject_isTakenBack() {
        ClientThreads.start(
                () -> {
                    throw new OutOfMemoryError("on purpose");
                },
                takenBack::incrementAndGet);
        assertThat(takenBack).hasValue(1);
    }
}
