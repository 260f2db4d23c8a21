package dev.holdfast.lock.engine.internal.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
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

    /** The clean-up of a late answer runs on the thread that delivers it. */
    @Test
    void afterTheShutdown_cleanUpRunsWhereItIs_timersDoNot() {
        runtime.shutdown().run();
        for (Executor executor : List.of(runtime.io(), runtime.renewals(), runtime.callbacks())) {
            assertThat(threadOf(executor)).isSameAs(Thread.currentThread());
        }
        assertThat(runtime.timer().after(0, () -> {})).isSameAs(Subscription.NONE);
    }

    /** Each hold ends with an event, even if the client is closed while another thread is about to report it. */
    @Test
    void afterTheShutdown_eventsAreTold_inOrder_andTheirThreadEnds() throws Exception {
        List<String> reported = new CopyOnWriteArrayList<>();
        CountDownLatch shutDown = new CountDownLatch(1);
        runtime.events().execute(() -> {
            try {
                shutDown.await();
            } catch (InterruptedException e) {
                reported.add("interrupted");
            }
            reported.add("before");
        });
        runtime.shutdown().run();
        CompletableFuture<Thread> last = new CompletableFuture<>();
        runtime.events().execute(() -> reported.add("after"));
        runtime.events().execute(() -> last.complete(Thread.currentThread()));
        shutDown.countDown();

        last.join().join();
        assertThat(reported).containsExactly("before", "after");
    }

    /** Each thread that a pool starts has an initial task; further tasks are queued. */
    @Test
    void threads_areSoManyOfEachRole_andNoMore() {
        Map<String, Executor> executors = Map.of(
                "holdfast-io-", runtime.io(),
                "holdfast-renewal-", runtime.renewals(),
                "holdfast-callback-", runtime.callbacks(),
                "holdfast-loss-", runtime.losses(),
                "holdfast-interrupt-", runtime.interrupts(),
                "holdfast-events-", runtime.events());
        Map<String, Integer> threads = new HashMap<>();
        executors.forEach((role, executor) -> {
            List<CompletableFuture<String>> names = IntStream.range(0, 8)
                    .mapToObj(i -> CompletableFuture.supplyAsync(
                            () -> Thread.currentThread().getName(), executor))
                    .toList();
            Set<String> distinct = names.stream().map(CompletableFuture::join).collect(Collectors.toSet());
            assertThat(distinct).allMatch(name -> name.startsWith(role));
            threads.put(role, distinct.size());
        });
        assertThat(threads)
                .containsExactlyInAnyOrderEntriesOf(Map.of(
                        "holdfast-io-",
                        2,
                        "holdfast-renewal-",
                        2,
                        "holdfast-callback-",
                        3,
                        "holdfast-loss-",
                        1,
                        "holdfast-interrupt-",
                        1,
                        "holdfast-events-",
                        1));
    }

    /** As if no thread returned from the driver: the next attempt fails immediately. */
    @Test
    void callsThatWaitForAThread_areBounded_untilTheShutdown() {
        CountDownLatch busy = new CountDownLatch(1);
        AtomicInteger done = new AtomicInteger();
        for (int i = 0; i < 2; i++) {
            runtime.io().execute(() -> {
                try {
                    busy.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
        }
        for (int i = 0; i < 100_000; i++) {
            runtime.io().execute(done::incrementAndGet);
        }
        assertThatThrownBy(() -> runtime.io().execute(done::incrementAndGet))
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessage("more than 100000 calls wait for a thread");
        assertThat(done).hasValue(0);
        runtime.shutdown().run();
        runtime.io().execute(done::incrementAndGet);
        assertThat(done)
                .as("after the shutdown, tasks run on the calling thread")
                .hasValue(1);
        busy.countDown();
    }

    @Test
    void threadOfTheEvents_endsSoonAfterTheShutdown() throws InterruptedException {
        Thread thread = threadOf(runtime.events());
        runtime.shutdown().run();
        thread.join(2_000); // five seconds without anything to do, before the shutdown
        assertThat(thread.isAlive()).isFalse();
    }

    /** While no thread can be started. */
    @Test
    void whatAWaiterIsToldBy_isTriedAgain_untilThereIsAThreadForIt() {
        List<String> done = new ArrayList<>();
        List<Long> pauses = new ArrayList<>();
        Executor withoutThreads = task -> {
            if (pauses.size() < 2) {
                throw new OutOfMemoryError("on purpose");
            }
            task.run();
        };
        Timer timer = (delayNanos, task) -> {
            pauses.add(delayNanos);
            task.run();
            return Subscription.NONE;
        };

        EngineRuntime.executeEventually(withoutThreads, timer, () -> done.add("ran"));

        assertThat(done).containsExactly("ran");
        assertThat(pauses).containsExactly(100_000_000L, 100_000_000L);
    }
}
