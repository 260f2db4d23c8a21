package dev.holdfast.examples;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A thousand virtual threads wait for one lock. No monitor is held while they wait, so they give their carriers back, and
 * only one entry of this process is on the server. Needs Java 21 or newer to run.
 */
public final class VirtualThreads {
    private static final int THREADS = 1_000;

    private VirtualThreads() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI
     * @throws Exception if the store fails
     */
    public static void main(String[] arguments) throws Exception {
        String address = StoreAddress.of(arguments);
        ExecutorService executor = virtualThreads();
        int[] counter = new int[1];
        try (LockClient client = LockClient.connect(address)) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                all.add(executor.submit(() -> {
                    try (Lease lease = client.lock("counter").acquire()) {
                        counter[0]++;
                        return lease.token();
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
            System.out.println("counted by virtual threads: " + counter[0]);
        } finally {
            executor.shutdown();
        }
    }

    /** {@code Executors.newVirtualThreadPerTaskExecutor()}, by reflection: this is compiled for Java 17. */
    private static ExecutorService virtualThreads() throws ReflectiveOperationException {
        return (ExecutorService)
                Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    }
}
