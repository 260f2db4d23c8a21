package dev.holdfast.lock.testkit.house;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Many waiters of one process, each of which releases as soon as it holds. */
final class Crowd {
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final int RELEASING = 4;

    private final int count;
    private final AtomicInteger served = new AtomicInteger();
    private final AtomicReference<String> failure = new AtomicReference<>("");
    private final CompletableFuture<Void> all = new CompletableFuture<>();
    private final ExecutorService releasing = Executors.newFixedThreadPool(RELEASING, task -> {
        Thread thread = new Thread(task, "crowd");
        thread.setDaemon(true);
        return thread;
    });

    /** Begins to wait for a lock, or for a permit if there is a limit. */
    Crowd(LockClient client, String name, int limit, int count) {
        this.count = count;
        for (int i = 0; i < count; i++) {
            CompletableFuture<? extends Lease> waiting = limit == 0
                    ? client.lock(name).acquireAsync(PATIENCE)
                    : client.semaphore(name, limit).acquireAsync(1, PATIENCE);
            waiting.thenAcceptAsync(Lease::close, releasing).whenComplete((done, error) -> ended(error));
        }
    }

    private void ended(Throwable error) {
        if (error != null) {
            failure.compareAndSet("", error.toString());
        }
        if (served.incrementAndGet() == count) {
            releasing.shutdown();
            all.complete(null);
        }
    }

    /** Waits until each has held and released; what went wrong first, or an empty text. */
    String await() {
        all.join();
        return String.valueOf(failure.get());
    }

    /** The processor time of this process so far, in milliseconds. */
    static long processorMillis() {
        return ProcessHandle.current()
                .info()
                .totalCpuDuration()
                .orElseGet(() ->
                        Duration.ofMillis(ManagementFactory.getRuntimeMXBean().getUptime()))
                .toMillis();
    }
}
