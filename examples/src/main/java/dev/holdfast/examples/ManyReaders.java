package dev.holdfast.examples;

import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.time.Duration;

/** Two processes read at once; a writer waits for both, and its token is above theirs. */
public final class ManyReaders {

    private ManyReaders() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI; a store that has read locks
     * @throws InterruptedException if interrupted
     */
    public static void main(String[] arguments) throws InterruptedException {
        String address = StoreAddress.of(arguments);
        try (LockClient one = LockClient.connect(address);
                LockClient other = LockClient.connect(address)) {
            DistributedReadWriteLock prices = one.readWriteLock("prices");
            DistributedReadWriteLock elsewhere = other.readWriteLock("prices");
            long read;
            try (Lease here = prices.readLock().acquire();
                    Lease there = elsewhere.readLock().acquire(Duration.ofSeconds(10))) {
                read = Math.max(here.token(), there.token());
                System.out.println("two read at once: " + (here.isValid() && there.isValid()));
                System.out.println("one writes beside them: "
                        + elsewhere.writeLock().tryAcquire().isPresent());
            }
            try (Lease write = prices.writeLock().acquire(Duration.ofSeconds(10))) {
                System.out.println("one writes after them, with a higher token: " + (write.token() > read));
                System.out.println("one reads beside it: "
                        + elsewhere.readLock().tryAcquire().isPresent());
            }
        }
    }
}
