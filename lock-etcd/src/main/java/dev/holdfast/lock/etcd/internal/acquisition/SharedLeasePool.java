package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * The leases of one client: one for each TTL, granted on first use. A lease is renewed with its grants, by a task while
 * a key waits on it, and by an acquisition that finds its last confirmation older than a twentieth of its TTL. An
 * unused lease expires, so an idle client sends nothing.
 *
 * <p><b>Resumed leaders.</b> A leader that was paused may, when it resumes, revoke all leases that have run out by its
 * clock, although its successor has renewed them (etcd-io/etcd#15247; the check in 3.4.31 and 3.5.13 is skipped briefly
 * after a tick). It does not have leases that were granted later. So a lease of an older Raft term takes no more
 * acquisitions, and renewals move held keys to a new one.
 *
 * <p>Thread-safe.
 */
public final class SharedLeasePool {
    /** etcd's minimum with its default election timeout: 1.5 times that, rounded up to seconds. */
    static final long MIN_TTL_SECONDS = 2;

    private static final BackgroundLog LOG = BackgroundLog.of(SharedLeasePool.class);

    private final EtcdCalls calls;
    private final BiConsumer<LeaseMember, String> onGone;
    private final ConcurrentMap<Long, CompletableFuture<SharedLease>> current = new ConcurrentHashMap<>();
    private final ConcurrentMap<SharedLease, CompletableFuture<Void>> renewals = new ConcurrentHashMap<>();
    private final Set<SharedLease> all = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    public SharedLeasePool(EtcdCalls calls, BiConsumer<LeaseMember, String> onGone) {
        this.calls = calls;
        this.onGone = onGone;
    }

    public static long ttlSeconds(long leaseMillis) {
        return Math.max(MIN_TTL_SECONDS, (leaseMillis + 999) / 1_000);
    }

    /** The lease for a TTL: an existing one that certainly lasts longer than a third of it, or a new one. */
    public CompletableFuture<SharedLease> obtain(long ttlSeconds, long timeoutMillis) {
        while (true) {
            CompletableFuture<SharedLease> present = current.get(ttlSeconds);
            if (present != null && isWorthKeeping(present)) {
                return present;
            }
            CompletableFuture<SharedLease> fresh = new CompletableFuture<>();
            boolean mine = present == null
                    ? current.putIfAbsent(ttlSeconds, fresh) == null
                    : current.replace(ttlSeconds, present, fresh);
            if (mine) {
                make(ttlSeconds, timeoutMillis, fresh);
                return fresh;
            }
        }
    }

    private boolean isWorthKeeping(CompletableFuture<SharedLease> present) {
        if (!present.isDone()) {
            return true;
        }
        return !present.isCompletedExceptionally()
                && isGood(present.join())
                && !present.join().isFull();
    }

    /** Whether keys on the lease may stay there. */
    public boolean isGood(SharedLease lease) {
        return lease.isUsable(System.nanoTime()) && !isOutdated(lease);
    }

    /** Whether keys on the lease must move to another one: the leader has changed, or the lease must end. */
    public boolean isOutdated(SharedLease lease) {
        return lease.term() < calls.latestTerm() || lease.isCondemned();
    }

    private void make(long ttlSeconds, long timeoutMillis, CompletableFuture<SharedLease> fresh) {
        prune();
        LeaseRequestTime sent = LeaseRequestTime.now();
        long known = calls.latestTerm();
        var call = calls.grant(ttlSeconds, timeoutMillis);
        calls.bounded(call, timeoutMillis).whenComplete((reply, failure) -> {
            if (failure != null) {
                fresh.completeExceptionally(failure);
                call.thenAccept(late -> calls.revoke(late.getID()));
                return;
            }
            calls.noteTerm(reply);
            long term = Math.max(known, reply.getHeader().getRaftTerm());
            SharedLease lease = new SharedLease(reply.getID(), reply.getTTL(), sent, term);
            all.add(lease);
            if (closed) {
                calls.revoke(lease.id());
                fresh.completeExceptionally(new LockUnavailableException("the etcd backend is closed"));
            } else {
                fresh.complete(lease);
            }
        });
    }

    /** Removes leases that ended long ago by any clock. */
    private void prune() {
        long now = System.nanoTime();
        all.removeIf(lease ->
                lease.isGone() || lease.members().isEmpty() && lease.certainNanos(now) < -2 * lease.ttlNanos());
    }

    /** One of this client's leases, by its id. */
    public java.util.Optional<SharedLease> byId(long id) {
        return all.stream().filter(lease -> lease.id() == id && !lease.isGone()).findFirst();
    }

    /** Renews a lease once; concurrent callers share the call. See {@link KeepAlive#send}. */
    public CompletableFuture<Void> renew(SharedLease lease, long timeoutMillis) {
        CompletableFuture<Void> result = new CompletableFuture<>();
        CompletableFuture<Void> inFlight = renewals.putIfAbsent(lease, result);
        if (inFlight != null) {
            return inFlight;
        }
        KeepAlive.send(calls, lease, timeoutMillis).whenComplete((ok, failure) -> {
            renewals.remove(lease, result);
            if (failure == null) {
                result.complete(null);
            } else {
                if (EtcdFailures.isLeaseGone(failure)) {
                    markGone(lease, "etcd no longer has the lease: expired or revoked");
                }
                result.completeExceptionally(failure);
            }
        });
        return result;
    }

    /** The server reported the end of a lease: notifies the members once. */
    public void markGone(SharedLease lease, String detail) {
        if (lease.end()) {
            all.remove(lease);
            lease.members().forEach(acquisition -> onGone.accept(acquisition, lease + ": " + detail));
        }
    }

    /** Renews a lease regularly while a key waits on it. */
    public void keepAlive(SharedLease lease) {
        if (lease.upkeep().compareAndSet(false, true)) {
            scheduleUpkeep(lease, thirdNanos(lease) - lease.ageNanos(System.nanoTime()));
        }
    }

    private void upkeep(SharedLease lease) {
        if (closed || lease.isGone() || !isWaitedOn(lease)) {
            lease.upkeep().set(false);
            if (!closed && !lease.isGone() && isWaitedOn(lease)) {
                keepAlive(lease);
            }
            return;
        }
        long restNanos = thirdNanos(lease) - lease.ageNanos(System.nanoTime());
        if (restNanos > 0) {
            scheduleUpkeep(lease, restNanos);
            return;
        }
        renew(lease, TimeUnit.NANOSECONDS.toMillis(thirdNanos(lease))).whenComplete((ok, failure) -> {
            if (failure != null) {
                LOG.debug("{}: renewal for waiting keys failed; retrying", lease, failure);
            }
            scheduleUpkeep(lease, TimeUnit.MILLISECONDS.toNanos(100));
        });
    }

    private void scheduleUpkeep(SharedLease lease, long delayNanos) {
        try {
            calls.executor().schedule(() -> upkeep(lease), Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            lease.upkeep().set(false);
        } catch (OutOfMemoryError e) { // the next key that waits on the lease tries again
            lease.upkeep().set(false);
            throw e;
        }
    }

    private static boolean isWaitedOn(SharedLease lease) {
        return lease.members().stream().anyMatch(LeaseMember::isWaiting);
    }

    private static long thirdNanos(SharedLease lease) {
        return lease.ttlNanos() / 3;
    }

    /** Ends a lease that takes no more acquisitions and has none left. */
    public void revokeIfRetired(SharedLease lease) {
        if (lease.isRetired() && lease.members().isEmpty() && lease.end()) {
            all.remove(lease);
            calls.revoke(lease.id());
        }
    }

    /** Revokes all leases except the given ones, which expire. */
    public CompletableFuture<Void> close(Set<SharedLease> kept) {
        closed = true;
        long now = System.nanoTime();
        List<CompletableFuture<?>> revoked = new ArrayList<>();
        for (SharedLease lease : all) {
            if (!kept.contains(lease) && !lease.isGone() && lease.certainNanos(now) > -lease.ttlNanos()) {
                revoked.add(calls.revoke(lease.id()));
            }
        }
        return CompletableFuture.allOf(revoked.toArray(new CompletableFuture<?>[0]));
    }
}
