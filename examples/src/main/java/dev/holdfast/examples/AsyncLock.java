package dev.holdfast.examples;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

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
        try (LockClient client = LockClient.connect(arguments[0])) {
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
}
