package dev.holdfast.lock.redis.internal.backend;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.connection.RedisFailures;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Renews the leases of many grants in as few commands as their slots allow. A command that is refused because of one key is
 * repeated at once for each key, so the others are renewed. Thread-safe, never blocks.
 */
final class RedisRenewal {
    private static final int RENEWALS_A_COMMAND = 100;
    /** The answers of the script other than renewed, gone and held by another owner. */
    private static final long NOT_AMONG_THE_HOLDERS = 3;

    private final RedisSettings settings;
    private final boolean cluster;
    private final RedisCalls calls;
    private final AcquireSender sender;

    RedisRenewal(RedisSettings settings, boolean cluster, RedisCalls calls, AcquireSender sender) {
        this.settings = settings;
        this.cluster = cluster;
        this.calls = calls;
        this.sender = sender;
    }

    private String stateKey(Grant grant) {
        return RedisKeys.of(settings.prefix(), grant.acquisition().name()).lock();
    }

    CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        RenewResult[] results = new RenewResult[grants.size()];
        List<CompletableFuture<Void>> parts = new ArrayList<>();
        for (List<Integer> part : parts(grants)) {
            parts.add(renew(grants, part, results, timeoutMillis));
        }
        CompletableFuture<List<RenewResult>> told = new CompletableFuture<>();
        CompletableFuture.allOf(parts.toArray(CompletableFuture[]::new)).whenComplete((nothing, failure) -> {
            told.complete(List.of(results));
        });
        return told;
    }

    /**
     * Splits grants, by their positions, into what one command can carry: locks held alone, or shares and permits. Those of one
     * lock follow each other by token, which is the order of the state's lines: so the script reads and writes each state once.
     */
    private List<List<Integer>> parts(List<Grant> grants) {
        Map<Integer, List<Integer>> together = new LinkedHashMap<>();
        for (int i = 0; i < grants.size(); i++) {
            int slot = cluster ? SlotHash.getSlot(stateKey(grants.get(i))) : 0;
            int script = isAlone(grants.get(i)) ? 0 : 1;
            together.computeIfAbsent(2 * slot + script, key -> new ArrayList<>())
                    .add(i);
        }
        List<List<Integer>> parts = new ArrayList<>();
        for (List<Integer> all : together.values()) {
            if (!isAlone(grants.get(all.get(0)))) {
                all.sort(Comparator.<Integer, String>comparing(
                                i -> grants.get(i).acquisition().name())
                        .thenComparing(i -> grants.get(i).token()));
            }
            for (int from = 0; from < all.size(); from += RENEWALS_A_COMMAND) {
                parts.add(all.subList(from, Math.min(all.size(), from + RENEWALS_A_COMMAND)));
            }
        }
        return parts;
    }

    private Collection<List<Integer>> byKey(List<Grant> grants, List<Integer> part) {
        return part.stream()
                .collect(Collectors.groupingBy(i -> stateKey(grants.get(i)), LinkedHashMap::new, Collectors.toList()))
                .values();
    }

    private static boolean isAlone(Grant grant) {
        return grant.demand() instanceof Demand.Exclusive;
    }

    private CompletableFuture<Void> renew(
            List<Grant> grants, List<Integer> part, RenewResult[] results, long timeoutMillis) {
        List<String> lockKeys = new ArrayList<>(part.size());
        List<String> args = new ArrayList<>(part.size() * 3 + 1);
        args.add(Long.toString(settings.memoryMillis()));
        for (int i : part) {
            Grant grant = grants.get(i);
            lockKeys.add(stateKey(grant));
            args.add(grant.acquisition().owner().toString());
            args.add(Long.toString(grant.leaseMillis()));
            args.add(Long.toString(grant.token()));
        }
        RedisScript script = isAlone(grants.get(part.get(0))) ? RedisScript.RENEW : RedisDemandScripts.RENEW;
        return calls.script(script, lockKeys.toArray(String[]::new), args.toArray(String[]::new), timeoutMillis)
                .<CompletableFuture<Void>>handle((reply, failure) -> {
                    if (failure != null && !RedisFailures.isAnyKeyRefused(failure)) {
                        Collection<List<Integer>> keys = byKey(grants, part);
                        if (keys.size() > 1) {
                            return CompletableFuture.allOf(keys.stream()
                                    .map(key -> renew(grants, key, results, timeoutMillis))
                                    .toArray(CompletableFuture[]::new));
                        }
                    }
                    for (int k = 0; k < part.size(); k++) {
                        Grant grant = grants.get(part.get(k));
                        results[part.get(k)] =
                                renewal(grant, failure == null ? RedisLockBackend.number(reply, k) : -1, failure);
                    }
                    return CompletableFuture.completedFuture(null);
                })
                .thenCompose(Function.identity());
    }

    private RenewResult renewal(Grant grant, long answer, @Nullable Throwable failure) {
        if (failure != null) {
            Throwable told = RedisFailures.TRANSLATOR.translate("renewal", failure);
            return new RenewResult.Unknown(String.valueOf(told.getMessage()), told);
        }
        if (answer == 1) {
            return new RenewResult.Renewed(grant.leaseMillis());
        }
        sender.ended(grant.acquisition().owner().toString());
        return new RenewResult.Lost(
                LossReason.REVOKED,
                answer == 0
                        ? "its key is gone: deleted, expired, evicted, or lost with the server's data"
                        : answer == NOT_AMONG_THE_HOLDERS
                                ? "it is no longer among the holders: its lease has ended, or somebody has ended it"
                                : "its key belongs to another owner");
    }
}
