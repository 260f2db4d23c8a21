package dev.holdfast.lock.redis;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Sends commands on one connection (to a server, or to a cluster): scripts by their digest, every command bounded in
 * time. A command that has timed out is cancelled, so that the client does not send it again after a reconnect. A script
 * that the server does not know, after a restart or SCRIPT FLUSH, is sent in full, which also stores it. Thread-safe.
 */
final class RedisCalls {
    private final RedisClusterAsyncCommands<String, String> commands;
    private final Runnable wrongServer;

    /**
     * Makes it.
     *
     * @param commands the connection's commands
     * @param wrongServer called when the server turns out to be a replica, to look for the master
     */
    RedisCalls(RedisClusterAsyncCommands<String, String> commands, Runnable wrongServer) {
        this.commands = commands;
        this.wrongServer = wrongServer;
    }

    /** Runs a script that answers with a list; fails with the client's own exceptions. */
    CompletableFuture<List<Object>> script(RedisScript script, String[] keys, String[] args, long timeoutMillis) {
        RedisFuture<List<Object>> sent = commands.evalsha(script.digest(), ScriptOutputType.MULTI, keys, args);
        return bounded(sent, timeoutMillis).exceptionallyCompose(failure -> {
            if (RedisFailures.unwrap(failure) instanceof RedisNoScriptException) {
                return bounded(
                        commands.<List<Object>>eval(script.body(), ScriptOutputType.MULTI, keys, args), timeoutMillis);
            }
            throw new CompletionException(RedisFailures.unwrap(failure));
        });
    }

    CompletableFuture<@Nullable String> get(String key, long timeoutMillis) {
        return bounded(commands.get(key), timeoutMillis);
    }

    /** Counts the replicas that have acknowledged everything sent on this connection so far. */
    CompletableFuture<Long> waitForReplicas(int replicas, long replicasMillis, long timeoutMillis) {
        return bounded(commands.waitForReplication(replicas, replicasMillis), timeoutMillis);
    }

    private <T> CompletableFuture<T> bounded(RedisFuture<T> future, long timeoutMillis) {
        CompletableFuture<T> sent = future.toCompletableFuture();
        if (!sent.isDone()) {
            sent.orTimeout(timeoutMillis, TimeUnit.MILLISECONDS);
        }
        sent.whenComplete((value, failure) -> {
            if (failure != null && RedisFailures.isReadOnly(failure)) {
                wrongServer.run();
            }
        });
        return sent;
    }
}
