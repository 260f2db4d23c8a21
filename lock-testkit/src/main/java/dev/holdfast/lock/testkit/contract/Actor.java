package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A thread that runs the steps of a test, one after the other. */
public final class Actor implements AutoCloseable {
    private final LinkedBlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
    private final Thread thread;
    private volatile boolean ended;

    Actor(String name) {
        thread = new Thread(this::work, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void work() {
        while (!ended) {
            try {
                tasks.take().run();
            } catch (InterruptedException e) {
                // An interrupt that came after its task had ended; the end of the actor is a task of its own.
            }
        }
    }

    Thread thread() {
        return thread;
    }

    /** Starts a task; what it throws fails the future. */
    public <T> CompletableFuture<T> start(Callable<T> task) {
        CompletableFuture<T> future = new CompletableFuture<>();
        tasks.add(() -> {
            try {
                future.complete(task.call());
            } catch (Throwable e) {
                future.completeExceptionally(e);
            }
        });
        return future;
    }

    public CompletableFuture<Boolean> start(Action task) {
        return start(() -> {
            task.run();
            return true;
        });
    }

    /** Does a task and waits for it; what it throws is thrown. */
    public <T> T call(Callable<T> task) throws Exception {
        return result(start(task));
    }

    public void run(Action task) throws Exception {
        result(start(task));
    }

    /** Waits for a task's result; what it threw is thrown. */
    public static <T> T result(CompletableFuture<T> future) throws Exception {
        try {
            return future.get(ContractGroup.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw e;
        } catch (TimeoutException e) {
            throw new AssertionError("the other thread was not done within " + ContractGroup.PATIENCE, e);
        }
    }

    /** Waits for a task's failure. */
    public static Throwable failure(CompletableFuture<?> future) throws Exception {
        try {
            Object value = future.get(ContractGroup.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            throw new AssertionError("a failure was expected, but it returned " + value);
        } catch (ExecutionException e) {
            return Objects.requireNonNullElse(e.getCause(), e);
        }
    }

    /** Like {@link #failure}, where nothing checked can come. */
    public static Throwable failureOf(CompletableFuture<?> future) {
        try {
            return failure(future);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** Waits until the thread waits inside the lock. */
    public void awaitBlocked() {
        await("thread '" + thread.getName() + "' waits for the lock")
                .atMost(ContractGroup.PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(this::isBlocked);
    }

    private boolean isBlocked() {
        Thread.State state = thread.getState();
        return (state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING)
                && Arrays.stream(thread.getStackTrace())
                        .anyMatch(frame -> frame.getClassName().startsWith("dev.holdfast.lock.engine"));
    }

    public void interrupt() {
        thread.interrupt();
    }

    /** Ends the thread when its present task is over, and waits for that. */
    void end() throws InterruptedException {
        tasks.add(() -> ended = true);
        thread.join(ContractGroup.PATIENCE.toMillis());
        assertThat(thread.isAlive())
                .as("thread '%s' is still alive", thread.getName())
                .isFalse();
    }

    @Override
    public void close() {
        tasks.add(() -> ended = true);
        if (!ended) {
            thread.interrupt();
        }
    }

    /** A task without a result. */
    @FunctionalInterface
    public interface Action {
        public void run() throws Exception;
    }
}
