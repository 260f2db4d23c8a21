package dev.holdfast.lock.redis.internal.script;

import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;

/** What a server has of a lock, read with commands that no count of locking has. */
public final class Entries {
    private Entries() {}

    /** One for each holder, and two for each waiter. */
    public static long of(RedisServer server, RedisKeys keys) throws IOException {
        return holders(server, keys) + server.number("ZCARD", keys.queue()) + server.number("HLEN", keys.waiters());
    }

    static boolean isHeld(RedisServer server, RedisKeys keys) throws IOException {
        return holders(server, keys) > 0;
    }

    /** Of shares and permits, those too whose lease has ended while that of another one goes on. */
    private static long holders(RedisServer server, RedisKeys keys) throws IOException {
        long left = server.number("PTTL", keys.lock());
        Object state = server.command("GET", keys.lock());
        if (state == null) {
            return 0;
        }
        String[] parts = state.toString().split(" ");
        if (parts[1].equals("-") || left <= Long.parseLong(parts[2])) {
            return 0;
        }
        return parts[1].equals("+") ? state.toString().lines().count() - 1 : 1;
    }
}
