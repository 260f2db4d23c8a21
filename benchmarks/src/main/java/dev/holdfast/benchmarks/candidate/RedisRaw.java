package dev.holdfast.benchmarks.candidate;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.Set;
import java.util.UUID;

/** SET NX PX to acquire, EVALSHA of a compare-and-delete to release, by Lettuce. */
final class RedisRaw implements Candidate {
    private static final String RELEASE =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

    @Override
    public String name() {
        return "raw";
    }

    @Override
    public Role role() {
        return Role.FLOOR;
    }

    @Override
    public boolean waits() {
        return false;
    }

    @Override
    public Set<String> plainCommands() {
        return Set.of("set");
    }

    @Override
    public boolean representative() {
        return true;
    }

    @Override
    public Session open(String address) {
        RedisClient client = RedisClient.create(address);
        RedisCommands<String, String> redis = client.connect().sync();
        String digest = redis.scriptLoad(RELEASE);
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                return new RawLock(redis, digest, name);
            }

            @Override
            public void close() {
                client.shutdown();
            }
        };
    }

    private record RawLock(RedisCommands<String, String> redis, String digest, String name, String owner)
            implements NamedLock {

        RawLock(RedisCommands<String, String> redis, String digest, String name) {
            this(redis, digest, name, UUID.randomUUID().toString());
        }

        @Override
        public void lock() {
            if (redis.set(name, owner, SetArgs.Builder.nx().px(30_000)) == null) {
                throw new IllegalStateException("'" + name + "' is taken, and the raw client does not wait");
            }
        }

        @Override
        public void unlock() {
            Long deleted = redis.evalsha(digest, ScriptOutputType.INTEGER, new String[] {name}, owner);
            if (deleted == null || deleted != 1) {
                throw new IllegalStateException("'" + name + "' was lost");
            }
        }
    }
}
