package dev.holdfast.lock.redis.internal.backend;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Sends attempts. Thread-safe, never blocks. */
@FunctionalInterface
public interface AcquireSender {

    /**
     * Runs an attempt's script.
     *
     * @param attempt the attempt
     * @param timeoutMillis how long it may take
     * @return the script's answer
     */
    CompletableFuture<List<Object>> tryAcquire(RedisAttempt attempt, long timeoutMillis);

    /** That acquisition is not attempted again. */
    default void ended(String owner) {}

    /** Another caller takes back what its attempts up to that generation were granted. */
    default void takenBack(String owner, long generation) {}

    /** Frees its connections, if it has any of its own. */
    default void close() {}
}
