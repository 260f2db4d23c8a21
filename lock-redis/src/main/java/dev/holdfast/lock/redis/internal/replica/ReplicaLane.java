package dev.holdfast.lock.redis.internal.replica;

import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.connection.RedisFailures;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * A connection for attempts that wait for replicas, some at a time: their scripts go first, and one WAIT, which answers
 * for all that the connection has written, follows them. In a cluster that is one WAIT for each server concerned.
 */
final class ReplicaLane {
    private final RedisCalls calls;
    private final int replicas;

    /** Connects; blocks, fails with the client's own exceptions. */
    ReplicaLane(ConnectionFactory factory, int replicas) {
        this.calls = new RedisCalls(factory);
        this.replicas = replicas;
    }

    /**
     * Sends attempts, in one trip.
     *
     * @param jobs are completed
     * @param waitMillis how long the replicas are waited for
     * @return completes, normally, as soon as the lane can be used again
     */
    CompletableFuture<Void> send(List<ReplicaJob> jobs, long waitMillis) {
        ConnectionFactory.Link link = calls.link();
        List<CompletableFuture<RedisClusterAsyncCommands<String, String>>> found = new ArrayList<>();
        for (ReplicaJob job : jobs) {
            found.add(link.node()
                    .apply(job.lockKey())
                    .<RedisClusterAsyncCommands<String, String>>thenApply(node -> node)
                    .toCompletableFuture());
        }
        return all(found).thenCompose(nothing -> {
            Map<RedisClusterAsyncCommands<String, String>, List<ReplicaJob>> servers = new LinkedHashMap<>();
            for (int i = 0; i < jobs.size(); i++) {
                ReplicaJob job = jobs.get(i);
                found.get(i).whenComplete((node, failure) -> {
                    if (failure == null) {
                        servers.computeIfAbsent(node, key -> new ArrayList<>()).add(job);
                    } else {
                        job.fail(failure);
                    }
                });
            }
            List<CompletableFuture<Void>> sent = new ArrayList<>();
            servers.forEach((node, its) -> sent.add(send(link, node, its, false, waitMillis)));
            return all(sent);
        });
    }

    private CompletableFuture<Void> send(
            ConnectionFactory.Link link,
            RedisClusterAsyncCommands<String, String> node,
            List<ReplicaJob> jobs,
            boolean inFull,
            long waitMillis) {
        List<CompletableFuture<Boolean>> unknown = new ArrayList<>();
        long longestMillis = 1;
        for (ReplicaJob job : jobs) {
            longestMillis = Math.max(longestMillis, job.timeoutMillis());
            unknown.add(script(link, node, job, inFull).handle((reply, failure) -> {
                boolean asksForTheScript = !inFull && failure != null && RedisFailures.isUnknownScript(failure);
                if (failure == null) {
                    job.reply().complete(reply);
                } else if (!asksForTheScript) {
                    job.fail(calls.told(failure));
                }
                return asksForTheScript;
            }));
        }
        CompletableFuture<Long> waited = calls.bounded(
                        link,
                        jobs.get(0).lockKey(),
                        node.waitForReplication(replicas, waitMillis),
                        longestMillis + waitMillis)
                .exceptionally(failure -> -1L);
        return all(unknown).thenCombine(waited, (nothing, count) -> count).thenCompose(count -> {
            List<ReplicaJob> again = new ArrayList<>();
            for (int i = 0; i < jobs.size(); i++) {
                if (unknown.get(i).join()) {
                    again.add(jobs.get(i));
                } else {
                    jobs.get(i).replicas().complete(count);
                }
            }
            return again.isEmpty() ? all(List.of()) : send(link, node, again, true, waitMillis);
        });
    }

    private CompletableFuture<List<Object>> script(
            ConnectionFactory.Link link,
            RedisClusterAsyncCommands<String, String> node,
            ReplicaJob job,
            boolean inFull) {
        RedisScript script = job.attempt().script();
        String[] keys = job.attempt().scriptKeys();
        String[] args = job.attempt().args();
        return calls.bounded(
                link,
                keys[0],
                inFull
                        ? node.<List<Object>>eval(script.body(), ScriptOutputType.MULTI, keys, args)
                        : node.<List<Object>>evalsha(script.digest(), ScriptOutputType.MULTI, keys, args),
                job.leftMillis(job.timeoutMillis()));
    }

    /** Completes normally when all of them have ended. */
    private static CompletableFuture<Void> all(List<? extends CompletableFuture<?>> parts) {
        return CompletableFuture.allOf(parts.toArray(CompletableFuture[]::new)).exceptionally(failure -> null);
    }

    void close() {
        calls.close();
    }
}
