package dev.holdfast.benchmarks.candidate;

import java.time.Duration;
import java.util.concurrent.locks.Lock;
import java.util.function.BiFunction;
import org.redisson.api.RedissonClient;

/** Redisson's locks with its defaults, on one server. */
final class Redisson implements Candidate {
    private final String name;
    private final BiFunction<RedissonClient, String, Lock> kind;

    private Redisson(String name, BiFunction<RedissonClient, String, Lock> kind) {
        this.name = name;
        this.kind = kind;
    }

    static Redisson lock() {
        return new Redisson("redisson-rlock", RedissonClient::getLock);
    }

    static Redisson fairLock() {
        return new Redisson("redisson-fair", RedissonClient::getFairLock);
    }

    static Redisson spinLock() {
        return new Redisson("redisson-spin", RedissonClient::getSpinLock);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Role role() {
        return Role.PEER;
    }

    @Override
    public Duration outlives() {
        return Duration.ofSeconds(30);
    }

    @Override
    public boolean representative() {
        return name.equals("redisson-rlock");
    }

    @Override
    public Session open(String address) {
        RedissonClient client = RedissonClients.open(address);
        return new Session() {
            @Override
            public NamedLock lock(String lockName) {
                return NamedLock.of(kind.apply(client, lockName));
            }

            @Override
            public void close() {
                client.shutdown();
            }
        };
    }
}
