package dev.holdfast.examples;

import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.Permit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** Twelve exports of two processes, at most three at once; each has a slot of its own meanwhile. */
public final class LimitedConcurrency {
    private static final int LIMIT = 3;
    private static final int EXPORTS = 12;

    private LimitedConcurrency() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI; a store that has semaphores
     * @throws Exception if the store fails
     */
    public static void main(String[] arguments) throws Exception {
        String address = StoreAddress.of(arguments);
        AtomicInteger inside = new AtomicInteger();
        AtomicIntegerArray slots = new AtomicIntegerArray(LIMIT + 1);
        ExecutorService pool = Executors.newFixedThreadPool(EXPORTS);
        try (LockClient one = LockClient.connect(address);
                LockClient other = LockClient.connect(address)) {
            List<Callable<Boolean>> exports = new ArrayList<>();
            for (int i = 0; i < EXPORTS; i++) {
                DistributedSemaphore semaphore = (i % 2 == 0 ? one : other).semaphore("exports", LIMIT);
                exports.add(() -> export(semaphore, inside, slots));
            }
            int good = 0;
            for (Future<Boolean> export : pool.invokeAll(exports)) {
                good += export.get() ? 1 : 0;
            }
            System.out.println("exports beside two others at most, alone in their slot: " + good);
            System.out.println("another limit is accepted: " + isAccepted(other, LIMIT + 1));
            one.semaphore("exports", LIMIT).changeLimit(LIMIT + 1);
            System.out.println("another limit is accepted after changeLimit: " + isAccepted(other, LIMIT + 1));
        } finally {
            pool.shutdown();
        }
    }

    /** False if there were too many, or if the slot was taken. */
    private static boolean export(DistributedSemaphore semaphore, AtomicInteger inside, AtomicIntegerArray slots)
            throws InterruptedException {
        try (Permit permit = semaphore.acquire()) {
            boolean good = inside.incrementAndGet() <= LIMIT && slots.incrementAndGet(permit.slot()) == 1;
            TimeUnit.MILLISECONDS.sleep(20); // the export
            slots.decrementAndGet(permit.slot());
            inside.decrementAndGet();
            return good;
        }
    }

    private static boolean isAccepted(LockClient client, int limit) throws InterruptedException {
        try (Permit permit = client.semaphore("exports", limit).acquire()) {
            return permit.isValid();
        } catch (LockConfigurationException e) {
            return false;
        }
    }
}
