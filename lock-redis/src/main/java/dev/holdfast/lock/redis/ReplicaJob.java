package dev.holdfast.lock.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** An attempt whose grant replicas are to acknowledge. Its identity is its own; its futures may be completed by anybody. */
final class ReplicaJob {
    private final RedisKeys keys;
    private final String[] args;
    private final long round;
    private final long timeoutMillis;
    private final long askedNanos = System.nanoTime();
    private final CompletableFuture<List<Object>> reply = new CompletableFuture<>();
    private final CompletableFuture<Long> replicas = new CompletableFuture<>();

    ReplicaJob(RedisKeys keys, String[] args, long round, long timeoutMillis) {
        this.keys = keys;
        this.args = args;
        this.round = round;
        this.timeoutMillis = timeoutMillis;
    }

    RedisKeys keys() {
        return keys;
    }

    String[] args() {
        return args;
    }

    String owner() {
        return args[0];
    }

    long round() {
        return round;
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
