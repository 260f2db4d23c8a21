package dev.holdfast.examples;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.time.Duration;
import java.util.Optional;

/** The three ways to take a lock: as a {@link java.util.concurrent.locks.Lock}, as a resource, and only if it is free. */
public final class FirstLock {

    private FirstLock() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI
     * @throws InterruptedException if interrupted
     */
    public static void main(String[] arguments) throws InterruptedException {
        try (LockClient client = LockClient.connect(StoreAddress.of(arguments))) {
            DistributedLock lock = client.lock("orders/42");

            lock.lock();
            try {
                System.out.println("locked by lock(): " + lock.isHeldByCurrentThread());
            } finally {
                lock.unlock();
            }

            try (Lease lease = lock.acquire()) {
                System.out.println("locked as a resource: " + lease.isValid());
            }

            Optional<Lease> free = lock.tryAcquire(Duration.ofSeconds(2));
            if (free.isPresent()) {
                try (Lease lease = free.get()) {
                    System.out.println("locked because it was free: " + lease.isValid());
                }
            } else {
                System.out.println("held by " + client.holder("orders/42"));
            }
        }
    }
}
