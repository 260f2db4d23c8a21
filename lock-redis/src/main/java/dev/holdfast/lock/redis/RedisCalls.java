package dev.holdfast.lock.redis;

import dev.holdfast.lock.spi.Deadlines;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends commands on one connection (to a server, or to a cluster): scripts by their digest, every command bounded in
 * time. A command that has timed out is cancelled, so that the client does not send it again after a reconnect. A script
 * that the server does not know, after a restart or SCRIPT FLUSH, is sent in full, which also stores it. A connection that
 * has gone silent is replaced. Thread-safe.
 */
final class RedisCalls {
    private static final Logger LOG = LoggerFactory.getLogger(RedisCalls.class);
    private static final int DEAD_AFTER = 3;
    private static final long DEAD_AFTER_NANOS = 2_000_000_000L;

    private final RedisSource source;
    private final Deadlines deadlines = new Deadlines();
    private final AtomicInteger silent = new AtomicInteger();
    private final AtomicBoolean connecting = new AtomicBoolean();
    private volatile RedisSource.Link link;
    private volatile long answeredNanos = System.nanoTime();
    private volatile boolean closed;

    /** Connects; blocks, fails with the client's own exceptions. */
    RedisCalls(RedisSource source) {
        this.source = source;
        this.link = source.connect();
    }

    /** The connection of the moment. */
    RedisSource.Link link() {
        return link;
    }

    void close() {
        closed = true;
        close(link);
    }

    /** Runs a script that answers with a list; fails with the client's own exceptions. */
    CompletableFuture<List<Object>> script(RedisScript script, String[] keys, String[] args, long timeoutMillis) {
        RedisFuture<List<Object>> sent = link.commands().evalsha(script.digest(), ScriptOutputType.MULTI, keys, args);
        return bounded(sent, timeoutMillis)
                .exceptionallyCompose(failure -> unlessUnknown(
                        failure,
                        () -> bounded(
                                link.commands().<List<Object>>eval(script.body(), ScriptOutputType.MULTI, keys, args),
                                timeoutMillis)));
    }

    CompletableFuture<@Nullable String> get(String key, long timeoutMillis) {
        return bounded(link.commands().get(key), timeoutMillis);
    }

    /**
     * A script's answer, and how many replicas have what it wrote.
     *
     * @param reply the script's answer
     * @param replicas completes after the reply; fails if the script or WAIT failed
     */
    record Replicated(CompletableFuture<List<Object>> reply, CompletableFuture<Long> replicas) {}

    /** Runs a script and WAIT in one trip; the connection is blocked until enough replicas answer. */
    Replicated scriptAndWait(
            RedisScript script, String[] keys, String[] args, ReplicaAcknowledgement wanted, long timeoutMillis) {
        CompletableFuture<Replicated> sent = link.node()
                .apply(keys[0])
                .thenApply(node -> both(
                        node, node.evalsha(script.digest(), ScriptOutputType.MULTI, keys, args), wanted, timeoutMillis))
                .thenCompose(first -> first.reply()
                        .thenApply(reply -> first)
                        .exceptionallyCompose(failure -> unlessUnknown(
                                failure,
                                () -> link.node()
                                        .apply(keys[0])
                                        .thenApply(node -> both(
                                                node,
                                                node.eval(script.body(), ScriptOutputType.MULTI, keys, args),
                                                wanted,
                                                timeoutMillis))
                                        .toCompletableFuture())))
                .toCompletableFuture();
        return new Replicated(sent.thenCompose(Replicated::reply), sent.thenCompose(Replicated::replicas));
    }

    private Replicated both(
            RedisClusterAsyncCommands<String, String> node,
            RedisFuture<List<Object>> sent,
            ReplicaAcknowledgement wanted,
            long timeoutMillis) {
        CompletableFuture<List<Object>> reply = bounded(sent, timeoutMillis);
        CompletableFuture<Long> replicas = bounded(
                node.waitForReplication(wanted.replicas(), wanted.timeoutMillis()),
                timeoutMillis + wanted.timeoutMillis());
        return new Replicated(reply, replicas);
    }

    private interface Retry<T> {
        CompletableFuture<T> send();
    }

    private <T> CompletableFuture<T> unlessUnknown(Throwable failure, Retry<T> retry) {
        Throwable cause = RedisFailures.unwrap(failure);
        if (cause instanceof RedisNoScriptException) {
            return retry.send();
        }
        throw new CompletionException(told(cause));
    }

    private <T> CompletableFuture<T> bounded(RedisFuture<T> future, long timeoutMillis) {
        CompletableFuture<T> sent = future.toCompletableFuture();
        deadlines.end(sent, timeoutMillis);
        return sent.whenComplete((value, failure) -> {
            deadlines.ended(sent);
            if (failure instanceof TimeoutException) {
                if (silent.incrementAndGet() >= DEAD_AFTER && System.nanoTime() - answeredNanos > DEAD_AFTER_NANOS) {
                    replaceLink();
                }
                return;
            }
            silent.set(0);
            answeredNanos = System.nanoTime();
            if (failure != null && (RedisFailures.isReadOnly(failure) || isMoving(failure))) {
                link.wrongServer().run();
            }
        });
    }

    /**
     * A connection that only times out may be dead without anybody having been told, when a router has dropped it; the
     * operating system would notice after a quarter of an hour.
     */
    private void replaceLink() {
        if (closed || source.cluster() || !source.connects() || !connecting.compareAndSet(false, true)) {
            return;
        }
        Thread thread = new Thread(
                () -> {
                    try {
                        RedisSource.Link old = link;
                        link = source.connect();
                        answeredNanos = System.nanoTime();
                        silent.set(0);
                        drop(old);
                        LOG.debug("replaced a connection that did not answer any more");
                        if (closed) {
                            close(link);
                        }
                    } catch (RuntimeException e) {
                        LOG.debug("the server does not answer, and no new connection is possible", e);
                    } finally {
                        connecting.set(false);
                    }
                },
                "holdfast-redis-connect");
        thread.setDaemon(true);
        thread.start();
    }

    private static void drop(RedisSource.Link old) {
        if (old.connection() != null) {
            old.connection().closeAsync();
        }
    }

    private void close(RedisSource.Link last) {
        if (last.connection() != null) {
            source.close(last.connection());
        }
    }

    private static boolean isMoving(Throwable failure) {
        Throwable cause = RedisFailures.unwrap(failure);
        return cause instanceof RedisCommandExecutionException
                && String.valueOf(cause.getMessage()).startsWith("MOVED ");
    }

    private Throwable told(Throwable cause) {
        return source.cluster() && isMoving(cause)
                ? new RedisException("the cluster's slots are moving", cause)
                : cause;
    }
}
