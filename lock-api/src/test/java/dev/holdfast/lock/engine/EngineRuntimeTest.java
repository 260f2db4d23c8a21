package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.Subscription;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The threads of a client, before and after it is closed. */
@Timeout(60)
class EngineRuntimeTest {
    private final EngineRuntime runtime = EngineRuntime.ofThreads();

    @AfterEach
    void end() {
        runtime.shutdown().run();
    }

    private static Thread threadOf(Executor executor) {
        return CompletableFuture.supplyAsync(Thread::currentThread, executor).join();
    }

    @Test
    void threads_areNamed_andKeepNoJvmAlive() {
        CompletableFuture<Thread> timer = new CompletableFuture<>();
        runtime.timer().after(-1, () -> timer.complete(Thread.currentThread()));
        List<Thread> threads = List.of(
                timer.join(),
                threadOf(runtime.io()),
                threadOf(runtime.renewals()),
                threadOf(runtime.callbacks()),
                threadOf(runtime.events()));
        assertThat(threads)
                .extracting(Thread::getName)
                .containsExactly(
                        "holdfast-timer-1",
                        "holdfast-io-1",
                        "holdfast-renewal-1",
                        "holdfast-callback-1",
                        "holdfast-events-1");
        assertThat(threads).allMatch(Thread::isDaemon);
    }

    @Test
    void timer_thatIsCancelled_runsNothing() {
        CompletableFuture<Void> later = new CompletableFuture<>();
        AtomicReference<String> cancelled = new AtomicReference<>("not run");
        Subscription first = runtime.timer().after(TimeUnit.MILLISECONDS.toNanos(50), () -> cancelled.set("run"));
        first.close();
        runtime.timer().after(TimeUnit.MILLISECONDS.toNanos(60), () -> later.complete(null));
        later.join();
        assertThat(cancelled).hasValue("not run");
    }

    /** The clean-up of a late answer runs where it is. */
    @Test
    void afterTheShutdown_cleanUpRunsWhereItIs_timersDoNot() {
        runtime.shutdown().run();
        for (Executor executor : List.of(runtime.io(), runtime.renewals(), runtime.callbacks())) {
            assertThat(threadOf(executor)).isSameAs(Thread.currentThread());
        }
        assertThat(runtime.timer().after(0, () -> {})).isSameAs(Subscription.NONE);
    }

    /** Each hold ends with an event, also if the client was closed while another thread was about to tell it. */
    @Test
    void afterTheShutdown_eventsAreTold_inOrder_andTheirThreadEnds() throws Exception {
        List<String> told = new CopyOnWriteArrayList<>();
        CountDownLatch shutDown = new CountDownLatch(1);
        runtime.events().execute(() -> {
            try {
                shutDown.await();
            } catch (InterruptedException e) {
                told.add("interrupted");
            }
            told.add("before");
        });
        runtime.shutdown().run();
        CompletableFuture<Thread> last = new CompletableFuture<>();
        runtime.events().execute(() -> told.add("after"));
        runtime.events().execute(() -> last.complete(Thread.currentThread()));
        shutDown.countDown();

        last.join().join();
        assertThat(told).containsExactly("before", "after");
    }
}
