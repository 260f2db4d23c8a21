package dev.holdfast.examples;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;

/** No thread waits: the lease comes in a future, and closing it is allowed on any thread. */
public final class AsyncLock {

    private AsyncLock() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI
     * @throws Exception if the store fails
     */
    public static void main(String[] arguments) throws Exception {
        try (LockClient client = LockClient.connect(StoreAddress.of(arguments))) {
            CompletableFuture<String> result = client.lock("report")
                    .acquireAsync(Duration.ofSeconds(5))
                    .thenApplyAsync(lease -> {
                        try (Lease held = lease) {
                            return "made under the lock: " + held.isValid();
                        }
                    });
            System.out.println(result.get(10, TimeUnit.SECONDS));

            // Giving up leaves nothing behind on the server.
            try (Lease held = client.lock("report").acquire()) {
                CompletableFuture<Lease> waiting = client.lock("report").acquireAsync(Duration.ofMinutes(1));
                System.out.println("cancelled: " + waiting.cancel(false) + ", still held: " + held.isValid());
            }
        }
    }

    /**
     * Works under a lock. Cancelling what {@code thenApply} returns would not abandon the acquisition; cancelling the result
     * of this method does.
     *
     * @param <T> the result
     * @param lock the lock
     * @param work gets the fencing token
     * @param executor runs the work
     * @return the work's result; cancelling it gives up waiting, and changes nothing once the work has begun
     */
    public static <T> CompletableFuture<T> underLock(DistributedLock lock, LongFunction<T> work, Executor executor) {
        CompletableFuture<Lease> lease = lock.acquireAsync(Duration.ofSeconds(30));
        CompletableFuture<T> result = new CompletableFuture<>();
        lease.thenAcceptAsync(
                        held -> {
                            try (held) {
                                result.complete(work.apply(held.token()));
                            }
                        },
                        executor)
                .whenComplete((nothing, failure) -> {
                    if (failure != null) {
                        result.completeExceptionally(failure);
                        lease.thenAcceptAsync(Lease::close); // if the executor has rejected the work; else it is closed
                    }
                });
        result.whenComplete((value, failure) -> lease.cancel(false)); // nothing happens if it was granted
        return result;
    }
}
