package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;

/** What a server has of a lock, read with commands that no count of locking has. */
final class Entries {
    private Entries() {}

    /** One if it is held, and two for each waiter. */
    static long of(RedisServer server, RedisKeys keys) throws IOException {
        return (isHeld(server, keys) ? 1 : 0)
                + server.number("ZCARD", keys.queue())
                + server.number("HLEN", keys.waiters());
    }

    static boolean isHeld(RedisServer server, RedisKeys keys) throws IOException {
        long left = server.number("PTTL", keys.lock());
        Object state = server.command("GET", keys.lock());
        if (state == null) {
            return false;
        }
        String[] parts = state.toString().split(" ");
        return !parts[0].equals("-") && left > Long.parseLong(parts[2]);
    }
}
