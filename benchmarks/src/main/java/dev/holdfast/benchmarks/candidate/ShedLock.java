package dev.holdfast.benchmarks.candidate;

import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.jspecify.annotations.Nullable;

/** ShedLock's provider called directly: it never waits, so it takes part only in scenarios without waiters. */
final class ShedLock implements Candidate {
    private final Opener opener;

    ShedLock(Opener opener) {
        this.opener = opener;
    }

    /** Makes a provider. */
    interface Opener {
        Opened open(String address) throws Exception;
    }

    /** A provider and what to close after it. */
    record Opened(LockProvider provider, AutoCloseable resource) {}

    static ShedLock redis() {
        return new ShedLock(address -> {
            var connections = RedisConnections.lettuce(address);
            return new Opened(
                    new net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider(connections),
                    connections::destroy);
        });
    }

    static ShedLock jdbc() {
        return new ShedLock(address -> {
            var pool = Pools.open(address);
            return new Opened(new net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider(pool), pool);
        });
    }

    @Override
    public String name() {
        return "shedlock";
    }

    @Override
    public Role role() {
        return Role.PEER;
    }

    @Override
    public boolean waits() {
        return false;
    }

    @Override
    public java.util.Set<String> plainCommands() {
        return java.util.Set.of("set", "del");
    }

    @Override
    public Session open(String address) throws Exception {
        Opened opened = opener.open(address);
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                return new Held(opened.provider(), name);
            }

            @Override
            public void close() throws Exception {
                opened.resource().close();
            }
        };
    }

    private static final class Held implements NamedLock {
        private final LockProvider provider;
        private final String name;
        private @Nullable SimpleLock held;

        Held(LockProvider provider, String name) {
            this.provider = provider;
            this.name = name;
        }

        @Override
        public void lock() {
            held = provider.lock(new LockConfiguration(Instant.now(), name, Duration.ofSeconds(30), Duration.ZERO))
                    .orElseThrow(
                            () -> new IllegalStateException("'" + name + "' is taken, and ShedLock does not wait"));
        }

        @Override
        public void unlock() {
            SimpleLock lock = held;
            if (lock != null) {
                lock.unlock();
                held = null;
            }
        }
    }
}
