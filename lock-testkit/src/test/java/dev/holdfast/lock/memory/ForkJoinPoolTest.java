package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.fault.ForwardingBackend;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.support.Waits;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A thread of a ForkJoinPool that waits in this library must not run the pool's other tasks in the middle of the call. */
@House("process:pools")
class ForkJoinPoolTest {
    private static final int PARALLELISM = 3;
    private static final long ANSWER_MILLIS = 20;
    private static final AtomicBoolean IN_CALL = new AtomicBoolean();

    /** Tasks of this call or of an earlier one that the calling thread has run meanwhile. */
    private static final AtomicInteger OTHERS = new AtomicInteger();

    interface Call {
        void of(LockClient client) throws Exception;
    }

    private static Map<String, Call> calls() {
        Map<String, Call> calls = new LinkedHashMap<>();
        calls.put("lock and unlock", client -> {
            client.lock("a").lock();
            client.lock("a").unlock();
        });
        calls.put("acquire and close", client -> client.lock("a").acquire().close());
        calls.put(
                "tryAcquire",
                client -> client.lock("a").tryAcquire().orElseThrow().close());
        calls.put("ensure", client -> {
            try (Lease lease = client.lock("a").acquire()) {
                LockSupport.parkNanos(50_000_000);
                lease.ensure(Duration.ofMillis(14_530));
            } catch (LockUnavailableException slowMachine) { // it has waited all the same
                return;
            }
        });
        calls.put("lockAll", client -> client.lockAll("a", "b").acquire().close());
        calls.put("permits", client -> client.semaphore("a", 2).acquire(2).close());
        calls.put("changeLimit", client -> client.semaphore("a", 2).changeLimit(3));
        calls.put(
                "read lock",
                client -> client.readWriteLock("a").readLock().acquire().close());
        calls.put("holder", client -> client.holder("a"));
        calls.put("list", client -> client.list("", 10));
        calls.put("close with a held lock", client -> {
            client.lock("a").lock();
            client.close();
        });
        return calls;
    }

    @Test
    @DisplayName("A blocking call on a thread of the common pool does not run other tasks of the pool")
    void blockingCall_onCommonPool_runsNoOtherTask() throws Exception {
        Process child = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Djava.util.concurrent.ForkJoinPool.common.parallelism=" + PARALLELISM,
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ForkJoinPoolTest.class.getName())
                .redirectErrorStream(true)
                .start();
        String said = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(said.lines().filter(line -> line.startsWith("CALL ")))
                .as(said)
                .containsExactlyElementsOf(calls().keySet().stream()
                        .map(name -> "CALL " + name + ": 0 other tasks")
                        .toList());
    }

    /** Runs in a JVM of its own, as the parallelism of the common pool is set at the start. */
    public static void main(String[] args) throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        occupyOthers(end);
        // One task for all calls: JDK 17 sometimes leaves a task lying, though a thread of the pool is idle.
        ForkJoinPool.commonPool()
                .submit(() -> {
                    for (Map.Entry<String, Call> call : calls().entrySet()) {
                        System.out.println(
                                "CALL " + call.getKey() + ": " + otherTasksDuring(call.getValue()) + " other tasks");
                    }
                    return null;
                })
                .get(60, TimeUnit.SECONDS);
        end.countDown();
    }

    private static int otherTasksDuring(Call call) throws Exception {
        Thread caller = Thread.currentThread();
        OTHERS.set(0);
        try (LockClient client =
                LockEngine.client(new Late(MemoryStore.create().newBackend()), LockClientOptions.defaults())) {
            for (int i = 0; i < 100; i++) {
                CompletableFuture.runAsync(() -> {
                    if (IN_CALL.get() && Thread.currentThread() == caller) {
                        OTHERS.incrementAndGet();
                    }
                });
            }
            IN_CALL.set(true);
            call.of(client);
            IN_CALL.set(false);
        }
        return OTHERS.get();
    }

    /** Blocks all threads of the pool but one, so that its tasks stay queued unless the calling thread runs them. */
    private static void occupyOthers(CountDownLatch end) {
        AtomicInteger blocked = new AtomicInteger();
        for (int i = 1; i < PARALLELISM; i++) {
            ForkJoinPool.commonPool().execute(() -> {
                blocked.incrementAndGet();
                while (end.getCount() > 0) {
                    LockSupport.parkNanos(1_000_000);
                }
            });
        }
        Waits.until("all threads but one are blocked", () -> blocked.get() == PARALLELISM - 1);
    }

    /** A store whose answers take a while. */
    private static final class Late extends ForwardingBackend {
        Late(LockBackend delegate) {
            super(delegate);
        }

        private static <T> CompletionStage<T> later(CompletionStage<T> answer) {
            CompletableFuture<T> late = new CompletableFuture<>();
            CompletableFuture.delayedExecutor(ANSWER_MILLIS, TimeUnit.MILLISECONDS, Runnable::run)
                    .execute(() -> answer.whenComplete((value, failure) -> late.complete(value)));
            return late;
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            return later(super.tryAcquire(request));
        }

        @Override
        public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
            return later(super.release(grant, timeoutMillis));
        }

        @Override
        public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
            return later(super.renew(grants, timeoutMillis));
        }

        @Override
        public CompletionStage<Optional<HolderInfo>> holder(String name, long millis) {
            return later(super.holder(name, millis));
        }

        @Override
        public CompletionStage<LockListing> list(String prefix, int limit, long millis) {
            return later(super.list(prefix, limit, millis));
        }

        @Override
        public CompletionStage<Integer> changeLimit(String name, int from, int to, long millis) {
            return later(super.changeLimit(name, from, to, millis));
        }
    }
}
