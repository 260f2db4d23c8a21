package dev.holdfast.lock.redis.internal.backend;

import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.connection.RedisFailures;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** What INFO says of a server that matters to its locks. Stateless. */
final class RedisExamination {
    private RedisExamination() {}

    static CompletableFuture<List<StoreFinding>> examine(RedisCalls calls, String key, long timeoutMillis) {
        ConnectionFactory.Link link = calls.link();
        return calls.bounded(link, key, link.commands().info(), timeoutMillis)
                .thenApply(RedisExamination::findings)
                .exceptionallyCompose(failure -> RedisFailures.isRefusal(failure)
                        ? CompletableFuture.completedFuture(List.of(unread()))
                        : CompletableFuture.failedFuture(failure));
    }

    private static StoreFinding unread() {
        return new StoreFinding(
                StoreFinding.Grade.OK,
                "version and settings were not looked at: this user may not call INFO, which locks do not need",
                "ask again as a user that may, or: ACL SETUSER <user> +info");
    }

    static List<StoreFinding> findings(String info) {
        Map<String, String> facts = new HashMap<>();
        info.lines().forEach(line -> {
            int colon = line.indexOf(':');
            if (colon > 0) {
                facts.put(line.substring(0, colon), line.substring(colon + 1));
            }
        });
        List<StoreFinding> findings = new ArrayList<>();
        String valkey = facts.get("valkey_version");
        findings.add(StoreFinding.ok(
                valkey == null ? "Redis " + facts.getOrDefault("redis_version", "?") : "Valkey " + valkey));
        findings.add(
                "1".equals(facts.get("aof_enabled"))
                        ? StoreFinding.ok(
                                "it keeps an append-only file; with appendfsync always, a restart forgets no lock")
                        : StoreFinding.warning(
                                "it keeps no append-only file: a restart forgets all locks, held ones too",
                                "CONFIG SET appendonly yes; CONFIG SET appendfsync always; CONFIG REWRITE"));
        String policy = facts.getOrDefault("maxmemory_policy", "noeviction");
        if (!"0".equals(facts.getOrDefault("maxmemory", "0")) && !"noeviction".equals(policy)) {
            findings.add(StoreFinding.warning(
                    "maxmemory_policy is " + policy + ": a full server evicts locks",
                    "CONFIG SET maxmemory-policy noeviction; CONFIG REWRITE"));
        }
        if (!"0".equals(facts.getOrDefault("connected_slaves", "0"))) {
            findings.add(StoreFinding.warning(
                    facts.get("connected_slaves") + " replicas copy asynchronously: a failover may lose locks",
                    "where that must not be, use etcd or ZooKeeper; a client's option replicas makes it less likely"));
        }
        return findings;
    }
}
