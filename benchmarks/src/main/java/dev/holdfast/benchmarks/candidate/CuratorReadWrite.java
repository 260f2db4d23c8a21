package dev.holdfast.benchmarks.candidate;

import java.util.Set;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** Curator's lock for readers and writers, with an object for each thread. */
final class CuratorReadWrite implements Candidate {

    @Override
    public String name() {
        return "curator-readwrite";
    }

    @Override
    public Role role() {
        return Role.PEER;
    }

    @Override
    public Set<Primitive> primitives() {
        return Set.of(Primitive.READ_WRITE);
    }

    @Override
    public Session open(String address) throws Exception {
        CuratorFramework client = CuratorClients.open(address);
        return new Session() {
            @Override
            public ReadWrite readWrite(String lockName) {
                InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, "/read-write/" + lockName);
                return new ReadWrite(new Recipe(lock.readLock()), new Recipe(lock.writeLock()));
            }

            @Override
            public void close() {
                client.close();
            }
        };
    }

    /** A lock of Curator. */
    record Recipe(InterProcessLock recipe) implements NamedLock {
        @Override
        public void lock() throws Exception {
            recipe.acquire();
        }

        @Override
        public void unlock() throws Exception {
            recipe.release();
        }
    }
}
