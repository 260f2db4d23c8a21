package dev.holdfast.benchmarks.candidate;

import java.util.Set;
import org.redisson.api.RedissonClient;

/** Redisson's lock for readers and writers, with its defaults. */
final class RedissonReadWrite implements Candidate {

    @Override
    public String name() {
        return "redisson-rreadwritelock";
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
    public Session open(String address) {
        RedissonClient client = RedissonClients.open(address);
        return new Session() {
            @Override
            public ReadWrite readWrite(String lockName) {
                return ReadWrite.of(client.getReadWriteLock(lockName));
            }

            @Override
            public void close() {
                client.shutdown();
            }
        };
    }
}
