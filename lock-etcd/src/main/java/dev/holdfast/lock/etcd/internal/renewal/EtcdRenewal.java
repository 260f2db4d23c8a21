package dev.holdfast.lock.etcd.internal.renewal;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.etcd.internal.acquisition.ConditionalWrite;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLeasePool;
import dev.holdfast.lock.etcd.internal.client.Deadline;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.support.BackgroundLog;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.options.GetOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Renews grants. Each distinct lease takes one keep-alive and one request for its keys in parallel, however many locks
 * there are. The keep-alive alone would not detect that an operator has deleted a key, because the lease continues
 * without it. After two key requests in a row without an answer, the grants on that lease are uncertain.
 *
 * <p>After a change of leader, each key is written again, on a lease that the old leader does not have ({@link
 * SharedLeasePool} explains why). Renewals of very many grants do not wait for these {@link LeaseMoves}. While such a write has no
 * answer, both leases are renewed, and the reported validity is that of the lease that ends first ({@link ConditionalWrite}, 3).
 */
public final class EtcdRenewal {
    private static final BackgroundLog LOG = BackgroundLog.of(EtcdRenewal.class);

    /** After this number of unanswered key requests in a row, the keys on the lease are uncertain. */
    private static final int UNREAD_IN_A_ROW = 2;

    /** A renewal of so few grants, as after hand-overs, reads their keys one by one if the lease has very many. */
    private static final int MAX_READ = 8;

    /** From this number of keys on a lease, a list of them costs more than that. */
    private static final int MAX_LISTED = 100;

    private static final GetOption KEY_ONLY =
            GetOption.builder().withKeysOnly(true).build();

    private final EtcdCalls calls;
    private final SharedLeasePool leases;
    private final LeaseMoves moves;
    private final Consumer<EtcdAcquisition> onLost;
    /** The latest check of each lease. */
    private final Map<SharedLease, Check> checks = new ConcurrentHashMap<>();
    /** For each lease, the number of key requests without an answer since the last answer. */
    private final Map<SharedLease, Integer> unread = new ConcurrentHashMap<>();

    public EtcdRenewal(
            EtcdCalls calls, SharedLeasePool leases, ConditionalWrite writes, Consumer<EtcdAcquisition> onLost) {
        this.calls = calls;
        this.leases = leases;
        this.moves = new LeaseMoves(calls, leases, writes);
        this.onLost = onLost;
    }

    public CompletableFuture<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
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
                CompletableFuture<Checked> one = check(lease, acquisition, deadline, grants.size() <= MAX_READ);
                checked = on.size() == 1 ? one : checked.thenCombine(one, Checked::and);
            }
            acquisition.markChecked();
            results.add(checked.thenCompose(found -> result(grant, acquisition, found, deadline))
                    .exceptionally(failure -> new RenewResult.Unknown("its renewal failed", failure)));
        }
        return CompletableFuture.allOf(results.toArray(new CompletableFuture<?>[0]))
                .thenApply(done -> results.stream().map(CompletableFuture::join).toList());
    }

    /**
     * The result of the checks of some leases.
     *
     * @param failure the failure of a renewal, if one failed
     * @param keys the {@linkplain EtcdKeys#ending endings} of the keys on them; null if unknown
     * @param unread the number of unanswered key requests in a row, including this one
     * @param endNanos when the check ended
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
     * A check of a lease. The engine renews many locks in consecutive batches on a few leases; those batches share a
     * check.
     *
     * @param startNanos when it began
     */
    private record Check(long startNanos, CompletableFuture<Checked> result) {
        /** A check without an answer took long. It is shared from its end, so that not every batch takes that long. */
        boolean isRecent(SharedLease lease, long nowNanos) {
            boolean unread = result.isDone() && result.join().unread() > 0;
            return nowNanos - (unread ? result.join().endNanos() : startNanos) < lease.ttlNanos() / 20;
        }

        boolean hasNotFailed() {
            return !result.isDone() || result.join().failure() == null;
        }
    }

    private CompletableFuture<Checked> check(
            SharedLease lease, EtcdAcquisition acquisition, Deadline deadline, boolean few) {
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
        if (few && lease.members().size() > MAX_LISTED) {
            return ask(lease, deadline, () -> read(lease, acquisition.key()));
        }
        Check next = new Check(now, ask(lease, deadline, () -> list(lease)));
        checks.put(lease, next);
        return next.result();
    }

    /**
     * Waits at most half the time for the keys, because their answer may come on another connection than the
     * keep-alive's.
     */
    private CompletableFuture<Checked> ask(
            SharedLease lease, Deadline deadline, Supplier<CompletableFuture<Optional<Set<ByteSequence>>>> look) {
        CompletableFuture<Checked> keys = repeated(look, deadline.leftMillis() / 2)
                .handle((found, failure) -> {
                    if (failure == null) {
                        unread.remove(lease);
                        return new Checked(null, found.orElse(null), 0, System.nanoTime());
                    }
                    LOG.debug("{}: its keys could not be read; a later renewal detects deletions", lease, failure);
                    int inARow = EtcdFailures.isRefusal(failure) ? 0 : unread.merge(lease, 1, Integer::sum);
                    return new Checked(null, null, inARow, System.nanoTime());
                });
        return calls.bounded(leases.renew(lease, deadline.leftMillis()), deadline.leftMillis())
                .handle((ok, failure) -> failure)
                .thenCombine(
                        keys, (failure, known) -> new Checked(failure, known.keys(), known.unread(), known.endNanos()));
    }

    /** Repeats the request while it has no answer: the next request goes to the next endpoint. */
    private <T> CompletableFuture<T> repeated(Supplier<CompletableFuture<T>> request, long timeoutMillis) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        request.get().whenComplete((reply, failure) -> {
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
                            request.get().thenAccept(answer::complete);
                        }
                    });
        }
        return calls.bounded(answer, timeoutMillis);
    }

    /** The endings of the keys on a lease; empty if etcd has no such lease. */
    private CompletableFuture<Optional<Set<ByteSequence>>> list(SharedLease lease) {
        return calls.keysOf(lease.id())
                .thenApply(reply -> reply.getTTL() < 0
                        ? Optional.empty()
                        : Optional.of(
                                reply.getKeys().stream().map(EtcdKeys::ending).collect(Collectors.toSet())));
    }

    /** As {@link #list}, but with that one key only. */
    private CompletableFuture<Optional<Set<ByteSequence>>> read(SharedLease lease, ByteSequence key) {
        return calls.get(key, KEY_ONLY)
                .thenApply(reply -> Optional.of(
                        reply.getKvs().stream().anyMatch(found -> found.getLease() == lease.id())
                                ? Set.of(EtcdKeys.ending(key))
                                : Set.of()));
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
                            + " times in a row, so a deletion may be undetected",
                    null));
        }
        SharedLease present = acquisition.lease();
        // A late creation makes a new key after a deletion. The list of keys cannot distinguish the two.

        boolean unsure = missing || !acquisition.openCreations().isEmpty();
        // A lease that the key may be on has ended: only an answered write can say that it is on the other one.
        if (unsure || on.stream().anyMatch(SharedLease::isGone)) {
            return moves.write(acquisition, grant.token(), deadline)
                    .thenApply(there -> there ? renewed(acquisition, deadline) : deleted(grant, acquisition))
                    .exceptionally(failure -> unsure
                            ? new RenewResult.Unknown("its key may have been deleted", failure)
                            : renewed(acquisition, deadline));
        }
        if (on.size() == 1 && present != null && !leases.isOutdated(present)) {
            return CompletableFuture.completedFuture(renewed(acquisition, deadline));
        }
        return moves.move(acquisition, grant.token(), deadline.leftMillis())
                .handle((there, failure) ->
                        failure != null || there ? renewed(acquisition, deadline) : deleted(grant, acquisition));
    }

    private static RenewResult renewed(EtcdAcquisition acquisition, Deadline deadline) {
        long certain = TimeUnit.NANOSECONDS.toMillis(acquisition.certainNanos(deadline.startNanos()));
        long millis = Math.min(acquisition.requestedMillis(), certain);
        return millis < 1
                ? new RenewResult.Unknown(acquisition.possibleLeases() + " was not renewed in time", null)
                : new RenewResult.Renewed(millis);
    }

    /** If the acquisition waits again or has a new grant, it continues with its new key. */
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
