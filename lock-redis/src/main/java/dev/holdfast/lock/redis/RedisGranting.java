package dev.holdfast.lock.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Sends attempts. Thread-safe, never blocks. */
@FunctionalInterface
interface RedisGranting {

    /**
     * Runs {@link RedisScript#ATTEMPT}.
     *
     * @param keys the lock's keys
     * @param args the script's arguments
     * @param timeoutMillis how long it may take
     * @return the script's answer
     */
    CompletableFuture<List<Object>> attempt(RedisKeys keys, String[] args, long timeoutMillis);

    /** Frees its connections, if it has any of its own. */
    default void close() {}
}
