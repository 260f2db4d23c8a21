package dev.holdfast.lock.consul.internal.acquisition;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.consul.internal.http.ConsulException;
import dev.holdfast.lock.consul.internal.http.ConsulHttp;
import dev.holdfast.lock.consul.internal.http.Deadline;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.consul.internal.session.ConsulSession;
import dev.holdfast.lock.consul.internal.session.SessionPool;
import dev.holdfast.lock.consul.internal.session.Transaction;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Attempts to acquire. Each one is a transaction that requires the key to be absent and creates it. Thread-safe; never
 * blocks.
 */
final class ConsulAttempts {
    /** Consul sends no notification at the end of a lock-delay. */
    static final long LOCK_DELAY_POLL_MILLIS = 500;

    private static final int TRIES = 4;
    private static final int EPOCH = 0;
    private static final int ABSENCE = 1;

    private final SessionPool sessions;
    private final Acquisitions acquisitions;
    private final ConsulKeys keys;
    private final HeldKeys held;

    ConsulAttempts(SessionPool sessions, Acquisitions acquisitions, ConsulKeys keys, HeldKeys held) {
        this.sessions = sessions;
        this.acquisitions = acquisitions;
        this.keys = keys;
        this.held = held;
    }

    CompletableFuture<AcquireResult> tryAcquire(AcquireRequest request) {
        AcquisitionId id = request.acquisition();
        acquisitions.enter(id);
        Deadline deadline = Deadline.in(request.timeoutMillis());
        return FailureTranslator.guard(() -> attempt(request, System.nanoTime(), deadline, TRIES))
                .whenComplete((result, failure) -> acquisitions.leave(id));
    }

    private CompletableFuture<AcquireResult> attempt(
            AcquireRequest request, long startNanos, Deadline deadline, int triesLeft) {
        return sessions.usable(request.leaseMillis(), request.identity(), deadline)
                .thenCompose(session -> send(request, session, startNanos, deadline, triesLeft));
    }

    private CompletableFuture<AcquireResult> send(
            AcquireRequest request, ConsulSession session, long startNanos, Deadline deadline, int triesLeft) {
        AcquisitionId id = request.acquisition();
        Acquisitions.Sent sent = acquisitions.send(id, session);
        if (sent == null) {
            return CompletableFuture.completedFuture(
                    busy(request, -1)); // abandoned: it must not acquire the lock any more
        }
        CompletableFuture<Boolean> renewal = renewalIfDue(session, startNanos, deadline);
        Transaction attempt = sessions.attempt(session, sent.epoch())
                .checkAbsent(keys.lock(id.name()))
                .lock(
                        keys.lock(id.name()),
                        session.id(),
                        ConsulValue.of(id.owner(), request.identity()).base64());
        return sessions.transact(attempt, false, deadline)
                .whenComplete((outcome, failure) -> {
                    if (failure == null ? !outcome.done() : changedNothing(failure)) {
                        acquisitions.refused(id, sent);
                    }
                })
                .thenCompose(outcome -> {
                    if (!outcome.done()) {
                        return refused(request, sent, outcome, startNanos, deadline, triesLeft);
                    }
                    long index = outcome.written(keys.lock(id.name())).createIndex();
                    return granted(request, sent, new ConsulHold(id, session, index), renewal, startNanos);
                });
    }

    private static boolean changedNothing(Throwable failure) {
        Throwable cause = FailureTranslator.unwrap(failure);
        return cause instanceof ConsulHttp.NotSentException
                || cause instanceof LockException // thrown by this library before sending
                || cause instanceof ConsulException answer && answer.changedNothing();
    }

    /** Renews in parallel with the attempt, so that the grant is not much shorter than the lease. */
    private CompletableFuture<Boolean> renewalIfDue(ConsulSession session, long startNanos, Deadline deadline) {
        return session.leftMillis(startNanos) > session.ttlMillis() * 3 / 4
                ? CompletableFuture.completedFuture(true)
                : sessions.renew(session, deadline);
    }

    private CompletableFuture<AcquireResult> granted(
            AcquireRequest request,
            Acquisitions.@Nullable Sent sent,
            ConsulHold hold,
            CompletableFuture<Boolean> renewal,
            long startNanos) {
        if (!acquisitions.granted(request.acquisition(), sent, hold)) {
            return CompletableFuture.completedFuture(busy(request, -1));
        }
        return renewal.handle((renewed, failure) -> {
            long leaseMillis = hold.session().leftMillis(startNanos);
            if (leaseMillis <= 0
                    || Boolean.FALSE.equals(renewed)
                    || hold.session().hasEnded()) {
                throw new LockUnavailableException("its session could not be renewed in time; try again", failure);
            }
            return new AcquireResult.Granted(new Grant(request.acquisition(), hold.index(), leaseMillis, hold));
        });
    }

    private CompletableFuture<AcquireResult> refused(
            AcquireRequest request,
            Acquisitions.Sent sent,
            Transaction.Outcome outcome,
            long startNanos,
            Deadline deadline,
            int triesLeft) {
        ConsulSession session = sent.session();
        if (outcome.refusals().containsKey(ABSENCE)) {
            return acquisitions.mayHold(request.acquisition())
                    ? lookAtHolder(request, startNanos, deadline)
                    : CompletableFuture.completedFuture(busy(request, -1));
        }
        if (outcome.says("lock delay")) {
            return CompletableFuture.completedFuture(busy(request, LOCK_DELAY_POLL_MILLIS));
        }
        if (outcome.says("invalid session")) {
            sessions.ended(session);
            if (triesLeft > 1) {
                return attempt(request, startNanos, deadline, triesLeft - 1);
            }
        } else if (outcome.refusals().containsKey(EPOCH) && triesLeft > 1) {
            // Only if there is no newer epoch: each new epoch refuses the attempts that are in flight.
            CompletableFuture<Boolean> known = session.epoch() == sent.epoch()
                    ? sessions.newEpoch(session, deadline)
                    : CompletableFuture.completedFuture(true);
            return known.thenCompose(there -> attempt(request, startNanos, deadline, triesLeft - 1));
        }
        return CompletableFuture.failedFuture(new LockUnavailableException(
                "Consul refuses the transaction: " + outcome.refusals().values() + "; try again"));
    }

    /** An earlier attempt of this acquisition may have created the key. */
    private CompletableFuture<AcquireResult> lookAtHolder(AcquireRequest request, long startNanos, Deadline deadline) {
        AcquisitionId id = request.acquisition();
        return held.read(id.name(), deadline).thenCompose(entry -> {
            if (entry == null || !ConsulValue.decode(entry.value()).isOf(id.owner())) {
                return CompletableFuture.completedFuture(busy(request, -1));
            }
            ConsulSession session = sessions.find(entry.session());
            if (session == null || entry.createIndex() != entry.modifyIndex()) {
                // The session is not in use any more, or the key was changed by hand: the hold cannot be continued.
                return held.delete(id.name(), entry.modifyIndex(), deadline).thenApply(deleted -> busy(request, 0));
            }
            ConsulHold hold = new ConsulHold(id, session, entry.createIndex());
            return sessions.renew(session, deadline)
                    .thenCompose(there ->
                            granted(request, null, hold, CompletableFuture.completedFuture(there), startNanos));
        });
    }

    /** The acquisition has nothing on the server; the ticket is only for notifications. */
    private static AcquireResult busy(AcquireRequest request, long remainingMillis) {
        return new AcquireResult.Busy(
                remainingMillis, request.waitMillis() == 0 ? null : new ConsulTicket(request.acquisition()));
    }
}
