package dev.holdfast.examples;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;

/** No thread waits: the work runs under a lease that is closed however the work ends. */
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
                    .executeAsync(
                            Duration.ofSeconds(5),
                            ForkJoinPool.commonPool(),
                            lease -> CompletableFuture.completedFuture("made under the lock: " + lease.isValid()));
            System.out.println(result.get(10, TimeUnit.SECONDS));

            // Giving up leaves nothing behind on the server.
            try (Lease held = client.lock("report").acquire()) {
                CompletableFuture<Lease> waiting = client.lock("report").acquireAsync(Duration.ofMinutes(1));
                System.out.println("cancelled: " + waiting.cancel(false) + ", still held: " + held.isValid());
            }
        }
    }
}
