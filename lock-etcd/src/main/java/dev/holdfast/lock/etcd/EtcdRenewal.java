package dev.holdfast.lock.etcd;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.lease.LeaseTimeToLiveResponse;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Renews grants: for each distinct lease one keep-alive and, beside it, one question for the keys on it, however many
 * locks there are. The keep-alive alone would not notice that somebody has deleted a key: the lease goes on without it. After
 * two questions in a row without an answer, the grants on that lease are in doubt.
 *
 * <p>After a change of leaders each key is written again, once, on a lease that the old leader does not know ({@link
 * SharedLeases} tells why). The new lease is confirmed no earlier than the old one before that, so what was promised holds
 * on whichever of the two the key is; as long as that write has no answer, both are renewed, and no more is promised than
 * the one that ends first ({@link ConditionalWrite}, 3).
 */
final class EtcdRenewal {
    private static final Logger LOG = LoggerFactory.getLogger(EtcdRenewal.class);

    /** From so many on, what is on the lease is in doubt. */
    private static final int UNREAD_IN_A_ROW = 2;

    private final EtcdCalls calls;
    private final SharedLeases leases;
    private final ConditionalWrite writes;
    private final Consumer<EtcdAcquisition> onLost;
    /** The last look at each lease. */
    private final Map<SharedLease, Check> checks = new ConcurrentHashMap<>();
    /** How many looks at the keys of a lease had no answer since the last one that had. */
    private final Map<SharedLease, Integer> unread = new ConcurrentHashMap<>();

    EtcdRenewal(EtcdCalls calls, SharedLeases leases, ConditionalWrite writes, Consumer<EtcdAcquisition> onLost) {
        this.calls = calls;
        this.leases = leases;
        this.writes = writes;
        this.onLost = onLost;
    }

    CompletableFuture<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        Deadline deadline = new Deadline(System.nanoTime(), timeoutMillis);
        unread.keySet().removeIf(SharedLease::isGone);
        checks.entrySet().removeIf(check -> !check.getValue().isRecent(check.getKey(), deadline.startNanos()));
        List<CompletableFuture<RenewResult>> results = new ArrayList<>(grants.size());
        for (Grant grant : grants) {
            EtcdAcquisition acquisition = EtcdAcquisition.of(grant);
            if (acquisition == null) {
                results.add(CompletableFuture.completedFuture(
                        new RenewResult.Lost(LossReason.REVOKED, "held by another acquisition")));
                continue;
            }
            List<SharedLease> on = acquisition.possibleLeases();
            if (acquisition.isEnded() || on.stream().allMatch(SharedLease::isGone)) {
                results.add(CompletableFuture.completedFuture(lost(acquisition, on + " has ended on the server")));
                continue;
            }
            CompletableFuture<Checked> checked = CompletableFuture.completedFuture(Checked.NOTHING);
            for (SharedLease lease : on) {
                CompletableFuture<Checked> one = check(lease, acquisition, deadline);
                checked = on.size() == 1 ? one : checked.thenCombine(one, Checked::and);
            }
            acquisition.markChecked();
            results.add(checked.thenCompose(found -> result(grant, acquisition, found, deadline)));
        }
        return CompletableFuture.allOf(results.toArray(new CompletableFuture<?>[0]))
                .thenApply(done -> results.stream().map(CompletableFuture::join).toList());
    }

    /**
     * What became of some leases.
     *
     * @param failure how a renewal failed, if one did
     * @param keys the {@linkplain EtcdKeys#ending endings} of the keys on them, null if they are not known
     * @param unread how many looks in a row had no answer, this one included
     * @param endNanos when it ended
     */
    private record Checked(
            @Nullable Throwable failure, @Nullable Set<ByteSequence> keys, int unread, long endNanos) {
        static final Checked NOTHING = new Checked(null, Set.of(), 0, 0);

        boolean misses(ByteSequence key) {
            return keys != null && !keys.contains(EtcdKeys.ending(key));
        }

        Checked and(Checked other) {
            Set<ByteSequence> both = null;
            if (keys != null && other.keys != null) {
                both = new HashSet<>(keys);
                both.addAll(other.keys);
            }
            return new Checked(
                    failure == null ? other.failure : failure, both, Math.max(unread, other.unread), other.endNanos);
        }
    }

    /**
     * A look at a lease. The engine renews very many locks in batches, one behind the other, on a few leases: those share it.
     *
     * @param startNanos when it was begun
     */
    private record Check(long startNanos, CompletableFuture<Checked> result) {
        /** One that had no answer took long, and is shared from its end on, so that not each batch takes as long. */
        boolean isRecent(SharedLease lease, long nowNanos) {
            boolean unread = result.isDone() && result.join().unread() > 0;
            return nowNanos - (unread ? result.join().endNanos() : startNanos) < lease.ttlNanos() / 20;
        }

        boolean hasNotFailed() {
            return !result.isDone() || result.join().failure() == null;
        }
    }

    private CompletableFuture<Checked> check(SharedLease lease, EtcdAcquisition acquisition, Deadline deadline) {
        if (lease.isGone()) {
            return CompletableFuture.completedFuture(Checked.NOTHING);
        }
        long now = System.nanoTime();
        Check last = checks.get(lease);
        if (last != null) {
            boolean ofThisCall = last.startNanos() - deadline.startNanos() >= 0;
            if (ofThisCall
                    || last.isRecent(lease, now)
                            && last.hasNotFailed()
                            && acquisition.isUncheckedSince(last.startNanos())) {
                return last.result();
            }
        }
        Check next = new Check(now, ask(lease, deadline));
        checks.put(lease, next);
        return next.result();
    }

    /** The keys' answer may come by another connection than the keep-alive's, so it is waited for no longer than half the time. */
    private CompletableFuture<Checked> ask(SharedLease lease, Deadline deadline) {
        CompletableFuture<Checked> keys = look(lease, deadline.leftMillis() / 2).handle((reply, failure) -> {
            if (failure == null) {
                unread.remove(lease);
                return new Checked(null, keysOf(reply), 0, System.nanoTime());
            }
            LOG.debug("{}: its keys could not be read, so a deleted one is not noticed now", lease, failure);
            int inARow = EtcdFailures.isRefusal(failure) ? 0 : unread.merge(lease, 1, Integer::sum);
            return new Checked(null, null, inARow, System.nanoTime());
        });
        return calls.bounded(leases.renew(lease, deadline.leftMillis()), deadline.leftMillis())
                .handle((ok, failure) -> failure)
                .thenCombine(
                        keys, (failure, look) -> new Checked(failure, look.keys(), look.unread(), look.endNanos()));
    }

    /** Asks for the keys, and again while there is no answer: the next request goes to the next endpoint. */
    private CompletableFuture<LeaseTimeToLiveResponse> look(SharedLease lease, long timeoutMillis) {
        CompletableFuture<LeaseTimeToLiveResponse> answer = new CompletableFuture<>();
        calls.keysOf(lease.id()).whenComplete((reply, failure) -> {
            if (failure == null) {
                answer.complete(reply);
            } else {
                answer.completeExceptionally(failure);
            }
        });
        for (int third = 1; third < 3 && !answer.isDone(); third++) {
            CompletableFuture.delayedExecutor(timeoutMillis * third / 3, TimeUnit.MILLISECONDS, Runnable::run)
                    .execute(() -> {
                        if (!answer.isDone()) {
                            calls.keysOf(lease.id()).thenAccept(answer::complete);
                        }
                    });
        }
        return calls.bounded(answer, timeoutMillis);
    }

    private static @Nullable Set<ByteSequence> keysOf(LeaseTimeToLiveResponse reply) {
        return reply.getTTL() < 0
                ? null
                : reply.getKeys().stream().map(EtcdKeys::ending).collect(Collectors.toSet());
    }

    private CompletableFuture<RenewResult> result(
            Grant grant, EtcdAcquisition acquisition, Checked checked, Deadline deadline) {
        List<SharedLease> on = acquisition.possibleLeases();
        if (acquisition.isEnded() || on.stream().allMatch(SharedLease::isGone)) {
            return CompletableFuture.completedFuture(lost(acquisition, on + " has ended on the server"));
        }
        if (acquisition.seen().created() != grant.token()) {
            return CompletableFuture.completedFuture(
                    deleted(grant, acquisition)); // an attempt found no key, or another one
        }
        boolean missing = checked.misses(acquisition.key());
        if (!missing && checked.failure() != null) {
            return CompletableFuture.completedFuture(
                    new RenewResult.Unknown(on + " was not renewed in time", checked.failure()));
        }
        if (checked.unread() >= UNREAD_IN_A_ROW) {
            return CompletableFuture.completedFuture(new RenewResult.Unknown(
                    on + ": its keys could not be read " + checked.unread()
                            + " times in a row, so nobody knows whether one was deleted",
                    null));
        }
        SharedLease present = acquisition.lease();
        // A late creation makes the key anew if somebody has deleted it: the list of keys does not tell that it is
        // another one.
        boolean unsure = missing || !acquisition.openCreations().isEmpty();
        if (!unsure && on.size() == 1 && present != null && !leases.isOutdated(present)) {
            return CompletableFuture.completedFuture(renewed(acquisition, deadline));
        }
        return target(acquisition, present, deadline)
                .thenCompose(next -> write(grant, acquisition, next, deadline, true))
                .exceptionally(failure -> unsure
                        ? new RenewResult.Unknown("its key may have been deleted", failure)
                        : renewed(acquisition, deadline));
    }

    /** A lease that may be promised on, and that is confirmed no earlier than the present one. */
    private CompletableFuture<SharedLease> target(
            EtcdAcquisition acquisition, @Nullable SharedLease present, Deadline deadline) {
        if (present != null && leases.isGood(present)) {
            return CompletableFuture.completedFuture(present);
        }
        return leases.obtain(SharedLeases.ttlSeconds(acquisition.requestedMillis()), deadline.leftMillis())
                .thenCompose(next -> asFresh(next, present, deadline).thenApply(ok -> next));
    }

    private CompletableFuture<Void> asFresh(SharedLease next, @Nullable SharedLease present, Deadline deadline) {
        long now = System.nanoTime();
        return present != null && next.certainNanos(now) >= present.certainNanos(now)
                ? CompletableFuture.completedFuture(null)
                : calls.bounded(leases.renew(next, deadline.leftMillis()), deadline.leftMillis());
    }

    /** Writes a grant's key again if it is there: no stale node can answer that, and it settles what was sent before. */
    private CompletableFuture<RenewResult> write(
            Grant grant, EtcdAcquisition acquisition, SharedLease lease, Deadline deadline, boolean again) {
        return calls.bounded(
                        writes.send(acquisition, lease, write -> List.of(acquisition.put(write, null))),
                        deadline.leftMillis())
                .whenComplete((result, failure) -> {
                    if (failure != null && EtcdFailures.isLeaseGone(failure)) {
                        leases.markGone(lease, "etcd refused to put a key on it");
                    }
                })
                .thenCompose(result -> {
                    KeyState seen = acquisition.seen();
                    if (seen.created() != grant.token()) {
                        return CompletableFuture.completedFuture(deleted(grant, acquisition));
                    }
                    return result instanceof ConditionalWrite.Result.Changed && again
                            ? write(grant, acquisition, lease, deadline, false)
                            : CompletableFuture.completedFuture(renewed(acquisition, deadline));
                });
    }

    private static RenewResult renewed(EtcdAcquisition acquisition, Deadline deadline) {
        long certain = TimeUnit.NANOSECONDS.toMillis(acquisition.certainNanos(deadline.startNanos()));
        long millis = Math.min(acquisition.requestedMillis(), certain);
        return millis < 1
                ? new RenewResult.Unknown(acquisition.possibleLeases() + " was not renewed in time", null)
                : new RenewResult.Renewed(millis);
    }

    /** If the acquisition waits again meanwhile, or was granted again, it goes on with its new key. */
    private RenewResult deleted(Grant grant, EtcdAcquisition acquisition) {
        String detail = "its key was deleted";
        Grant present = acquisition.grant();
        return present != null && present.token() == grant.token()
                ? lost(acquisition, detail)
                : new RenewResult.Lost(LossReason.REVOKED, detail);
    }

    private RenewResult lost(EtcdAcquisition acquisition, String detail) {
        onLost.accept(acquisition);
        return new RenewResult.Lost(LossReason.REVOKED, detail);
    }
}
