package dev.holdfast.benchmarks.candidate;

import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;

/** Redisson's semaphore whose permits come back after a crash: each with a lease, as long as its lock's by default. */
final class RedissonSemaphore implements Candidate {
    private static final long LEASE_SECONDS = 30;

    @Override
    public String name() {
        return "redisson-rpermitexpirable";
    }

    @Override
    public Role role() {
        return Role.PEER;
    }

    @Override
    public Set<Primitive> primitives() {
        return Set.of(Primitive.SEMAPHORE);
    }

    @Override
    public Session open(String address) {
        RedissonClient client = RedissonClients.open(address);
        return new Session() {
            @Override
            public NamedLock semaphore(String semaphoreName, int limit) {
                RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore(semaphoreName);
                semaphore.trySetPermits(limit);
                return new OnePermit(semaphore);
            }

            @Override
            public void close() {
                client.shutdown();
            }
        };
    }

    private static final class OnePermit implements NamedLock {
        private final RPermitExpirableSemaphore semaphore;
        private String id = "";

        OnePermit(RPermitExpirableSemaphore semaphore) {
            this.semaphore = semaphore;
        }

        @Override
        public void lock() throws InterruptedException {
            id = semaphore.acquire(LEASE_SECONDS, TimeUnit.SECONDS);
        }

        @Override
        public void unlock() {
            semaphore.release(id);
        }
    }
}
