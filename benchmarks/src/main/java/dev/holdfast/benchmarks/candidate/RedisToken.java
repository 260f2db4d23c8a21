package dev.holdfast.benchmarks.candidate;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A token in a list: BLPOP takes it, LPUSH gives it back. Lost for ever with its holder, so it is no lock. */
final class RedisToken implements Candidate {

    @Override
    public String name() {
        return "ref-blpop";
    }

    @Override
    public Role role() {
        return Role.REFERENCE;
    }

    @Override
    public Duration outlives() {
        return Duration.ZERO;
    }

    @Override
    public Set<String> plainCommands() {
        return Set.of("blpop", "rpush", "set");
    }

    @Override
    public Session open(String address) {
        RedisClient client = RedisClient.create(address);
        StatefulRedisConnection<String, String> shared = client.connect();
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                // Whoever comes first puts the token there.
                if ("OK"
                        .equals(shared.sync()
                                .set(
                                        "token-made:" + name,
                                        UUID.randomUUID().toString(),
                                        new io.lettuce.core.SetArgs().nx()))) {
                    shared.sync().rpush("token:" + name, "token");
                }
                return new TokenLock(client.connect(), "token:" + name);
            }

            @Override
            public void close() {
                client.shutdown();
            }
        };
    }

    /** BLPOP blocks its connection, so each thread has its own. */
    private record TokenLock(StatefulRedisConnection<String, String> connection, String key) implements NamedLock {
        @Override
        public void lock() {
            @Nullable Object taken = connection.sync().blpop(0, key);
            if (taken == null) {
                throw new IllegalStateException("no token in " + key);
            }
        }

        @Override
        public void unlock() {
            connection.sync().rpush(key, "token");
        }

        @Override
        public void close() {
            connection.close();
        }
    }
}
