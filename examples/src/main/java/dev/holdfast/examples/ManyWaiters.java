package dev.holdfast.examples;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Many threads, one name, one entry on the server. It runs on any executor; on Java 21 or newer, give it
 * {@code Executors.newVirtualThreadPerTaskExecutor()} and any number of waiters: no monitor is held while waiting, so
 * a waiting virtual thread gives its carrier back.
 */
public final class ManyWaiters {

    private ManyWaiters() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI
     * @throws Exception if the store fails
     */
    public static void main(String[] arguments) throws Exception {
        String address = StoreAddress.of(arguments);
        ExecutorService executor = Executors.newFixedThreadPool(50);
        try (LockClient client = LockClient.connect(address)) {
            System.out.println("counted under the lock: " + count(client, executor, 500));
        } finally {
            executor.shutdown();
        }
    }

    private static int count(LockClient client, ExecutorService executor, int waiters) throws Exception {
        DistributedLock lock = client.lock("counter");
        int[] counter = new int[1];
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < waiters; i++) {
            all.add(executor.submit(() -> {
                try (Lease lease = lock.acquire()) {
                    counter[0]++;
                    return lease.token();
                }
            }));
        }
        for (Future<?> one : all) {
            one.get(60, TimeUnit.SECONDS);
        }
        return counter[0];
    }
}
