package dev.holdfast.benchmarks.candidate;

import java.util.Set;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.jspecify.annotations.Nullable;

/** Curator's semaphore, with an object for each thread. */
final class CuratorSemaphore implements Candidate {

    @Override
    public String name() {
        return "curator-semaphore-v2";
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
    public Session open(String address) throws Exception {
        CuratorFramework client = CuratorClients.open(address);
        return new Session() {
            @Override
            public NamedLock semaphore(String semaphoreName, int limit) {
                return new OneLease(new InterProcessSemaphoreV2(client, "/semaphore-v2/" + semaphoreName, limit));
            }

            @Override
            public void close() {
                client.close();
            }
        };
    }

    private static final class OneLease implements NamedLock {
        private final InterProcessSemaphoreV2 semaphore;
        private @Nullable Lease lease;

        OneLease(InterProcessSemaphoreV2 semaphore) {
            this.semaphore = semaphore;
        }

        @Override
        public void lock() throws Exception {
            lease = semaphore.acquire();
        }

        @Override
        public void unlock() {
            semaphore.returnLease(lease);
        }
    }
}
