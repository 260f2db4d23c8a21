package dev.holdfast.lock.redis.internal.replica;

import dev.holdfast.lock.redis.internal.backend.RedisAttempt;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** An attempt whose grant replicas are to acknowledge. Its identity is its own; any code may complete its futures. */
final class ReplicaJob {
    private final RedisAttempt attempt;
    private final long timeoutMillis;
    private final long askedNanos = System.nanoTime();
    private final CompletableFuture<List<Object>> reply = new CompletableFuture<>();
    private final CompletableFuture<Long> replicas = new CompletableFuture<>();

    ReplicaJob(RedisAttempt attempt, long timeoutMillis) {
        this.attempt = attempt;
        this.timeoutMillis = timeoutMillis;
    }

    RedisAttempt attempt() {
        return attempt;
    }

    String lockKey() {
        return attempt.keys().lock();
    }

    String owner() {
        return attempt.owner();
    }

    long generation() {
        return attempt.generation();
    }

    long timeoutMillis() {
        return timeoutMillis;
    }

    /** What is left of a time that began when the attempt was asked for; at least a millisecond. */
    long leftMillis(long ofMillis) {
        return Math.max(1, ofMillis - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - askedNanos));
    }

    /** The script's answer. */
    CompletableFuture<List<Object>> reply() {
        return reply;
    }

    /** How many replicas have what the script wrote; completes after the reply, unless that has failed. */
    CompletableFuture<Long> replicas() {
        return replicas;
    }

    void fail(Throwable failure) {
        reply.completeExceptionally(failure);
        replicas.completeExceptionally(failure);
    }
}
