package dev.holdfast.lock.etcd;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.lease.LeaseTimeToLiveResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Renews grants: for each distinct lease one keep-alive and, beside it, one question for the keys on it, however many
 * locks there are. The keep-alive alone would not notice that somebody has deleted a key: the lease goes on without it.
 *
 * <p>After a change of leaders each key is written again, once, on a lease that the old leader does not know ({@link
 * SharedLeases} tells why). The new lease is confirmed no earlier than the old one before that, so what was promised holds
 * on whichever of the two the key is, also if there is no answer.
 */
final class EtcdRenewal {
    private final EtcdCalls calls;
    private final SharedLeases leases;
    private final Consumer<EtcdPlace> onLost;

    EtcdRenewal(EtcdCalls calls, SharedLeases leases, Consumer<EtcdPlace> onLost) {
        this.calls = calls;
        this.leases = leases;
        this.onLost = onLost;
    }

    CompletableFuture<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        Deadline deadline = new Deadline(System.nanoTime(), timeoutMillis);
        Map<SharedLease, CompletableFuture<Checked>> checks = new HashMap<>();
        List<CompletableFuture<RenewResult>> results = new ArrayList<>();
        for (Grant grant : grants) {
            EtcdPlace place = EtcdPlace.of(grant);
            if (place == null) {
                results.add(CompletableFuture.completedFuture(
                        new RenewResult.Lost(LossReason.REVOKED, "held by another acquisition")));
                continue;
            }
            SharedLease lease = place.lease();
            if (lease == null || lease.isGone() || place.isEnded()) {
                results.add(CompletableFuture.completedFuture(lost(place, lease + " has ended on the server")));
            } else {
                results.add(checks.computeIfAbsent(lease, l -> check(l, deadline))
                        .thenCompose(checked -> result(place, lease, checked, deadline)));
            }
        }
        return CompletableFuture.allOf(results.toArray(new CompletableFuture<?>[0]))
                .thenApply(done -> results.stream().map(CompletableFuture::join).toList());
    }

    /** What became of one lease: how its renewal failed, if it did, and its keys, if they are known. */
    private record Checked(
            @Nullable Throwable failure, @Nullable Set<ByteSequence> keys) {
        boolean misses(ByteSequence key) {
            return keys != null && !keys.contains(key) && keys.stream().noneMatch(k -> endsWith(k, key));
        }

        /** The keys come with the namespace that the client may have put before them. */
        private static boolean endsWith(ByteSequence whole, ByteSequence end) {
            int start = whole.size() - end.size();
            return start > 0 && whole.substring(start).equals(end);
        }
    }

    private CompletableFuture<Checked> check(SharedLease lease, Deadline deadline) {
        CompletableFuture<Set<ByteSequence>> keys = calls.bounded(calls.keysOf(lease.id()), deadline.leftMillis())
                .<Set<ByteSequence>>thenApply(reply -> keysOf(reply))
                .exceptionally(failure -> null);
        return calls.bounded(leases.renew(lease, deadline.leftMillis()), deadline.leftMillis())
                .handle((ok, failure) -> failure)
                .thenCombine(keys, Checked::new);
    }

    private static @Nullable Set<ByteSequence> keysOf(LeaseTimeToLiveResponse reply) {
        return reply.getTTL() < 0 ? null : new HashSet<>(reply.getKeys());
    }

    private CompletableFuture<RenewResult> result(
            EtcdPlace place, SharedLease lease, Checked checked, Deadline deadline) {
        if (lease.isGone()) {
            return CompletableFuture.completedFuture(lost(place, lease + " has ended on the server"));
        }
        if (checked.misses(place.key())) {
            return confirm(place, lease, deadline);
        }
        if (checked.failure() != null) {
            return CompletableFuture.completedFuture(
                    new RenewResult.Unknown(lease + " was not renewed in time", checked.failure()));
        }
        return leases.isOutdated(lease)
                ? move(place, lease, deadline)
                : CompletableFuture.completedFuture(renewed(place, lease, deadline));
    }

    private CompletableFuture<RenewResult> move(EtcdPlace place, SharedLease lease, Deadline deadline) {
        long ttlSeconds = TimeUnit.NANOSECONDS.toSeconds(lease.ttlNanos());
        return leases.obtain(ttlSeconds, deadline.leftMillis())
                .thenCompose(next -> asFresh(next, lease, deadline)
                        .thenCompose(ok -> write(place, next, deadline))
                        .thenApply(reply -> moved(place, next, reply, deadline))
                        .whenComplete((moved, failure) -> {
                            if (failure != null && EtcdErrors.isLeaseGone(failure)) {
                                leases.gone(next, "etcd refused to put a key on it");
                            }
                        }))
                .exceptionally(failure -> renewed(place, lease, deadline));
    }

    private CompletableFuture<Void> asFresh(SharedLease next, SharedLease lease, Deadline deadline) {
        long now = System.nanoTime();
        return next.ageNanos(now) <= lease.ageNanos(now)
                ? CompletableFuture.completedFuture(null)
                : calls.bounded(leases.renew(next, deadline.leftMillis()), deadline.leftMillis());
    }

    private RenewResult moved(EtcdPlace place, SharedLease next, TxnResponse reply, Deadline deadline) {
        if (!reply.isSucceeded()) {
            return lost(place, "its key was deleted");
        }
        place.moveTo(next);
        return renewed(place, next, deadline);
    }

    private static RenewResult renewed(EtcdPlace place, SharedLease lease, Deadline deadline) {
        long certain = TimeUnit.NANOSECONDS.toMillis(lease.certainNanos(deadline.startNanos()));
        long millis = Math.min(place.requestedMillis(), certain);
        return millis < 1
                ? new RenewResult.Unknown(lease + " was not renewed in time", null)
                : new RenewResult.Renewed(millis);
    }

    /** A key that seems to be missing: writes it again if it is there, which no stale node can answer. */
    private CompletableFuture<RenewResult> confirm(EtcdPlace place, SharedLease lease, Deadline deadline) {
        return write(place, lease, deadline).handle((reply, failure) -> {
            if (failure != null) {
                return new RenewResult.Unknown(place.acquisition().name() + ": its key seems to be deleted", failure);
            }
            return reply.isSucceeded()
                    ? renewed(place, lease, deadline)
                    : lost(place, "its key was deleted, although " + lease + " goes on");
        });
    }

    /** Writes a grant's key again if it is there, on that lease. */
    private CompletableFuture<TxnResponse> write(EtcdPlace place, SharedLease lease, Deadline deadline) {
        Grant grant = java.util.Objects.requireNonNull(place.grant());
        PutOption onLease = PutOption.builder().withLeaseId(lease.id()).build();
        var call = EtcdCalls.guarded(() -> calls.txn()
                .If(new Cmp(place.key(), Cmp.Op.EQUAL, CmpTarget.createRevision(grant.token())))
                .Then(Op.put(place.key(), place.value(), onLease))
                .commit());
        return calls.bounded(call, deadline.leftMillis());
    }

    private RenewResult lost(EtcdPlace place, String detail) {
        onLost.accept(place);
        return new RenewResult.Lost(LossReason.REVOKED, detail);
    }
}
