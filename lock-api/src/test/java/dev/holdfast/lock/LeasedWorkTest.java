package dev.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** However work under a lease ends, the lease is closed once. */
final class LeasedWorkTest {
    private static final Duration WAIT = Duration.ofSeconds(1);

    private final CompletableFuture<Lease> acquisition = new CompletableFuture<>();
    private final AtomicInteger closes = new AtomicInteger();
    private final Deque<Runnable> tasks = new ArrayDeque<>();
    private @Nullable RuntimeException failureOfClose;
    private final Lease lease = proxy(Lease.class, (proxy, method, args) -> {
        if (method.getName().equals("close")) {
            closes.incrementAndGet();
            if (failureOfClose != null) {
                throw failureOfClose;
            }
        }
        return null;
    });
    private final DistributedLock lock = proxy(DistributedLock.class, (proxy, method, args) -> {
        if (method.isDefault()) {
            return InvocationHandler.invokeDefault(proxy, method, args);
        }
        return method.getName().equals("acquireAsync") ? acquisition : lease;
    });

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private void runTasks() {
        while (!tasks.isEmpty()) {
            tasks.remove().run();
        }
    }

    @Test
    void execute_workThrows_leaseIsClosed_andTheFailureOfTheReleaseIsSuppressed() throws Exception {
        assertThat(lock.<Integer, RuntimeException>execute(WAIT, held -> 7)).isEqualTo(7);
        assertThat(closes).hasValue(1);
        failureOfClose = new LockException("lost");

        assertThatThrownBy(() -> lock.execute(WAIT, held -> {
                    throw new IOException("disk");
                }))
                .isInstanceOf(IOException.class)
                .hasSuppressedException(failureOfClose);
        assertThatThrownBy(() -> lock.execute(WAIT, held -> 7)).isSameAs(failureOfClose);
        assertThat(closes).hasValue(3);
    }

    @Test
    void executeAsync_completes_afterTheRelease() {
        CompletableFuture<String> slow = new CompletableFuture<>();
        CompletableFuture<String> result = lock.executeAsync(WAIT, tasks::add, held -> slow);
        acquisition.complete(lease);
        runTasks();
        slow.complete("done");
        assertThat(result).isNotDone();
        assertThat(closes).hasValue(0);
        runTasks();

        assertThat(result).isCompletedWithValue("done");
        assertThat(closes).hasValue(1);
    }

    @Test
    void executeAsync_busy_failsWithoutTheWork() {
        CompletableFuture<String> result = lock.executeAsync(WAIT, tasks::add, held -> {
            throw new AssertionError("the work runs");
        });
        acquisition.completeExceptionally(new LockTimeoutException("busy"));

        assertThatThrownBy(result::join).hasCauseInstanceOf(LockTimeoutException.class);
        assertThat(tasks).isEmpty();
    }

    @Test
    void executeAsync_executorRejects_leaseIsClosed() {
        CompletableFuture<String> result = lock.executeAsync(
                WAIT,
                task -> {
                    throw new RejectedExecutionException("full");
                },
                held -> CompletableFuture.completedFuture("done"));
        acquisition.complete(lease);

        assertThatThrownBy(result::join).hasCauseInstanceOf(RejectedExecutionException.class);
        assertThat(closes).hasValue(1);
    }

    @Test
    void executeAsync_executorIsShutDownDuringTheWork_leaseIsClosed() {
        CompletableFuture<String> slow = new CompletableFuture<>();
        AtomicInteger calls = new AtomicInteger();
        CompletableFuture<String> result = lock.executeAsync(
                WAIT,
                task -> {
                    if (calls.getAndIncrement() > 0) {
                        throw new RejectedExecutionException("shut down");
                    }
                    task.run();
                },
                held -> slow);
        acquisition.complete(lease);
        slow.complete("done");

        assertThat(result).isCompletedWithValue("done");
        assertThat(closes).hasValue(1);
    }

    @Test
    void executeAsync_workFailsOrReturnsNull_leaseIsClosed() {
        CompletableFuture<String> nothing = lock.executeAsync(WAIT, tasks::add, held -> null);
        CompletableFuture<String> failed = lock.executeAsync(
                WAIT,
                tasks::add,
                held -> CompletableFuture.supplyAsync(
                        () -> {
                            throw new IllegalStateException("wrong");
                        },
                        Runnable::run));
        failureOfClose = new LockException("lost");
        acquisition.complete(lease);
        runTasks();

        assertThatThrownBy(nothing::join).hasCauseInstanceOf(NullPointerException.class);
        assertThatThrownBy(failed::join)
                .cause()
                .isInstanceOf(IllegalStateException.class)
                .hasSuppressedException(failureOfClose);
        assertThat(closes).hasValue(2);
    }

    @Test
    void executeAsync_cancelled_endsTheWait_orSkipsTheWork_orLetsItEnd() {
        CompletableFuture<String> waiting = lock.executeAsync(WAIT, tasks::add, held -> new CompletableFuture<>());
        waiting.cancel(false);
        assertThat(acquisition).isCancelled();
        assertThatThrownBy(waiting::join).isInstanceOf(CancellationException.class);

        CompletableFuture<Lease> granted = CompletableFuture.completedFuture(lease);
        CompletableFuture<String> slow = new CompletableFuture<>();
        CompletableFuture<String> queued = LeasedWork.run(granted, tasks::add, held -> {
            throw new AssertionError("the work runs");
        });
        queued.cancel(false);
        runTasks();
        assertThat(closes).hasValue(1);

        CompletableFuture<String> underWay = LeasedWork.run(granted, Runnable::run, held -> slow);
        underWay.cancel(false);
        assertThat(closes).hasValue(1);
        slow.complete("done");
        assertThat(closes).hasValue(2);
    }
}
