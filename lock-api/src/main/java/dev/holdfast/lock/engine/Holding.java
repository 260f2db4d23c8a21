package dev.holdfast.lock.engine;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lock while it is here: who holds it, to whom it is handed on, when it is released, and how it is lost.
 *
 * <p><b>Hand-off</b> is lock cohorting (Dice, Marathe, Shavit: Lock Cohorting, PPoPP 2012): the local queue is the local
 * lock, the server's grant the global one, which is kept for a bounded number of hand-offs and a bounded time. Unlike
 * there each hand-off mints a token, so that fencing tells apart two threads of one process.
 *
 * <p>Methods that begin a transition say so; the others run within one.
 */
final class Holding {
    private static final Logger LOG = LoggerFactory.getLogger(Holding.class);

    private final Contender contender;
    private final EngineClient client;
    private final Transitions transitions;
    private @Nullable Tenure tenure;
    /**
     * What is being released. The next acquisition is begun when the server has answered, or did not in time; on an
     * ordered store as soon as the release has been sent.
     */
    private @Nullable Acquisition releasing;

    private boolean releaseSent;
    private long releaseBegunNanos;
    private final LostPossessions lost = new LostPossessions();

    Holding(Contender contender) {
        this.contender = contender;
        this.client = contender.client();
        this.transitions = contender.transitions();
    }

    String name() {
        return contender.name();
    }

    LostPossessions lost() {
        return lost;
    }

    boolean isBusy() {
        return tenure != null || releasing != null;
    }

    /** Whether the next acquisition may be begun. */
    boolean isFree() {
        return tenure == null
                && (releasing == null || releaseSent && client.info().ordered());
    }

    /** Whether that acquisition is the one that is held or being released. */
    boolean holds(Acquisition acquisition) {
        return acquisition.equals(releasing)
                || tenure != null && tenure.grant.acquisition().equals(acquisition);
    }

    // ---- acquiring

    /**
     * Decides a waiter whose thread holds the lock already, or held it and has not noticed its loss. One that asks for a
     * lease never re-enters.
     *
     * @throws IllegalStateException if it asks for a lease and would wait for its own {@code lock} hold to end
     */
    boolean reenter(Waiter waiter) {
        Tenure current = tenure;
        Possession mine = current == null ? null : current.possession;
        if (current != null && mine != null && mine.isOwnedBy(waiter.thread())) {
            if (current.remainingNanos(client.ticker()) > 0) {
                if (waiter.asLease) {
                    refuseToWaitForItself(waiter, mine);
                    return false;
                }
                mine.addHold();
                waiter.possession = mine;
                contender.decide(waiter, Waiter.State.GRANTED);
                return true;
            }
            expire(current);
        }
        Possession unnoticed = waiter.asLease ? null : lost.find(waiter.thread());
        if (unnoticed != null) {
            contender.fail(waiter, unnoticed.lostException());
        }
        return unnoticed != null;
    }

    private void refuseToWaitForItself(Waiter waiter, Possession own) {
        if (!waiter.triesOnce()) {
            throw Failures.waitsForItself(name(), own.token, waiter.requester);
        }
    }

    /** Who holds the lock; null if nobody does, or a released one lingers. */
    @Nullable Possession possession() {
        return tenure == null ? null : tenure.possession;
    }

    /** For {@link Contender#usage}. */
    Optional<LockUsage.Holder> usage() {
        Possession held = possession();
        if (held == null) {
            return Optional.empty();
        }
        long remaining = held.tenure.isDoubted() ? 0 : held.tenure.remainingNanos(client.ticker());
        return Optional.of(new LockUsage.Holder(
                held.token,
                held.requesterName(),
                !held.isOfThread(),
                client.wallTimeOf(held.acquiredNanos),
                Duration.ofNanos(Math.max(0, remaining))));
    }

    /** The server's grant has come. */
    void begin(Tenure granted, Waiter waiter) {
        tenure = granted;
        give(granted, waiter, false);
        client.renewals().add(granted);
    }

    private void give(Tenure current, Waiter waiter, boolean handedOff) {
        contender.queue().remove(waiter);
        long now = client.ticker().nanos();
        Possession possession = new Possession(current, current.token(), now, waiter);
        current.beginHold(possession, waiter.options, now);
        waiter.possession = possession;
        contender.decide(waiter, Waiter.State.GRANTED);
        Duration waited = Duration.ofNanos(now - waiter.sinceNanos);
        client.events().tell(listener -> listener.acquired(name(), possession.token, waited, handedOff));
    }

    // ---- releasing

    /**
     * A transition: ends a {@code lock} hold of the calling thread.
     *
     * @return the release, or null if there are more holds or the lock was handed on
     * @throws IllegalMonitorStateException if the thread has none
     * @throws LeaseLostException if the lease was lost
     */
    @Nullable Release unlock(Thread thread) {
        return transitions.<@Nullable Release>get(() -> {
            Possession mine = possessionOf(thread);
            if (mine == null) {
                throw Failures.notHeld(name(), thread);
            }
            return endHold(mine, true);
        });
    }

    /** A transition: whether a thread that is interrupted and ends its last hold was interrupted to be told of a loss; once. */
    boolean takeInterruptOfLoss(Thread thread) {
        return transitions.test(() -> {
            Possession unnoticed = lost.find(thread);
            return unnoticed != null && unnoticed.isLastHold() && unnoticed.takeInterruptOfLoss();
        });
    }

    /** A transition: the same for the owner of that possession. */
    boolean takeInterruptOfLoss(Possession possession) {
        return transitions.test(() -> possession.isLastHold() && possession.takeInterruptOfLoss());
    }

    /** What a thread holds by {@code lock}, or held when it was lost; null if nothing. */
    private @Nullable Possession possessionOf(Thread thread) {
        Possession mine = possession();
        return mine != null && mine.isOwnedBy(thread) ? mine : lost.find(thread);
    }

    /** A transition: what a thread holds by {@code lock}, or held when it was lost; null if nothing. */
    @Nullable Possession heldBy(Thread thread) {
        return transitions.<@Nullable Possession>get(() -> possessionOf(thread));
    }

    /** A transition: ends a hold, on whatever thread. */
    @Nullable Release end(Possession possession) {
        return transitions.<@Nullable Release>get(() -> endHold(possession, true));
    }

    /** A transition: ends the hold of a lease that was dropped; a blocking release is made elsewhere. */
    void endDropped(Possession possession) {
        transitions.run(() -> {
            try {
                endHold(possession, false);
            } catch (LeaseLostException alreadyReported) {
                LOG.debug("{}", alreadyReported.getMessage());
            }
        });
    }

    private @Nullable Release endHold(Possession possession, boolean here) {
        Tenure current = possession.tenure;
        if (possession.state == Possession.State.HELD && current.remainingNanos(client.ticker()) <= 0) {
            expire(current);
        }
        possession.endHold();
        if (possession.state == Possession.State.LOST) {
            if (!possession.hasHolds()) {
                lost.remove(possession);
                if (lost.isEmpty()) {
                    client.forgetLosses(contender);
                }
                if (possession.takeInterruptOfLoss()) {
                    Thread.interrupted(); // it came while this thread was about to end the hold
                }
            }
            throw possession.lostException();
        }
        if (possession.state != Possession.State.HELD || possession.hasHolds()) {
            return null;
        }
        possession.state = Possession.State.RELEASED;
        long now = client.ticker().nanos();
        Waiter next = contender.queue().head();
        if (current.minHoldLeftNanos(now) > 0) {
            current.possession = null;
            tellReleased(possession, now);
            client.runtime().timer().after(current.minHoldLeftNanos(now), () -> endLinger(current));
            return null;
        }
        if (next != null && mayHandOff(current, next, now)) {
            tellReleased(possession, now);
            current.handOffs++;
            give(current, next, true);
            return null;
        }
        return release(current, possession, here);
    }

    private boolean mayHandOff(Tenure current, Waiter next, long nowNanos) {
        return !next.options.fair()
                && !current.options.fair()
                && current.autoRenew
                && next.options.renewal() == Renewal.AUTO
                && next.options.lease().equals(current.options.lease())
                && !current.isDoubted()
                && current.failedRenewals.get() == 0
                && current.handOffs < client.options().handOffLimit()
                && nowNanos - current.grantedNanos < client.handOffNanos()
                && current.remainingNanos(client.ticker()) > current.thirdOfLeaseNanos();
    }

    private Release release(Tenure current, Possession possession, boolean here) {
        leave(current);
        Acquisition released = current.grant.acquisition();
        releasing = released;
        releaseSent = false;
        releaseBegunNanos = client.ticker().nanos();
        CompletableFuture<@Nullable ReleaseResult> outcome = new CompletableFuture<>();
        transitions.effect(client.leftovers().release(current.grant, here, result -> {
            transitions.run(() -> released(possession, result));
            outcome.complete(result);
        }));
        if (client.info().ordered()) {
            transitions.effect(() -> sent(released)); // effects run in order: the release has been sent by then
        }
        return new Release(possession, outcome);
    }

    /**
     * Why a waiter whose deadline has passed could not be served while a release is out: null, that is busy, unless the
     * store has been silent for long, and for as long as it waited.
     */
    @Nullable LockException unavailability(Waiter waiter) {
        long now = client.ticker().nanos();
        long waitedNanos = Math.min(now - waiter.sinceNanos, client.requestTimeoutNanos());
        long silentNanos = Math.max(waitedNanos, client.requestTimeoutNanos() / 4);
        boolean silent = releasing != null
                && now - releaseBegunNanos >= silentNanos
                && !contender.wasAnsweredSince(now - silentNanos);
        return silent ? Failures.stalled(name(), now - releaseBegunNanos) : null;
    }

    /** A transition: a release has been sent; on an ordered store the next attempt may go right behind it. */
    private void sent(Acquisition released) {
        transitions.run(() -> {
            if (released.equals(releasing)) {
                releaseSent = true;
                contender.kick();
            }
        });
    }

    private void released(Possession possession, @Nullable ReleaseResult result) {
        if (possession.tenure.grant.acquisition().equals(releasing)) { // else a later one is being released by now
            releasing = null;
        }
        if (result == ReleaseResult.NOT_HELD) {
            lose(possession, LossReason.REVOKED, "the store did not have it any more at release");
        } else {
            tellReleased(possession, client.ticker().nanos());
        }
        if (result != null) {
            contender.noteAnswer();
        }
        if (possession.tenure.uncertain) {
            contender.abandon(possession.tenure.grant.acquisition(), possession.tenure.leaseMillis());
        }
        contender.kick();
    }

    private void tellReleased(Possession possession, long nowNanos) {
        Duration held = Duration.ofNanos(nowNanos - possession.acquiredNanos);
        client.events().tell(listener -> listener.released(name(), possession.token, held));
    }

    /** A transition: the lock was released early, and its {@code minHold} is over now. */
    private void endLinger(Tenure lingering) {
        transitions.run(() -> {
            if (tenure == lingering) {
                leave(lingering);
                giveBack(lingering);
                contender.kick();
            }
        });
    }

    private void leave(Tenure current) {
        tenure = null;
        client.renewals().remove(current);
    }

    /** Releases what nobody waits for. */
    private void giveBack(Tenure ended) {
        if (ended.uncertain) {
            contender.abandon(ended.grant.acquisition(), ended.leaseMillis());
        } else {
            transitions.effect(client.leftovers().release(ended.grant, false, ignored -> {}));
        }
    }

    // ---- renewing

    /** A transition: whether the grant is worth renewing; if not, it is left to run out. */
    boolean mayRenew(Tenure current) {
        return transitions.test(() -> {
            Possession possession = current.possession;
            if (tenure == current && possession != null && possession.isOrphaned()) {
                current.abandonedBecause = LossReason.OWNER_DIED;
            }
            return tenure == current && current.abandonedBecause == null;
        });
    }

    /** A transition: a renewal that was sent then is confirmed. */
    void confirm(Tenure current, Sent sent, long leaseMillis, boolean extend) {
        transitions.run(() -> {
            current.confirm(sent, client.ticker().nanos(), leaseMillis, extend);
            Possession possession = current.possession;
            if (tenure == current && possession != null) {
                client.events().tell(listener -> listener.renewed(name(), possession.token));
            }
        });
    }

    /** A transition: a renewal failed. The holder is told, and keeps the lease while it is valid. */
    void suspected(Tenure current, String detail) {
        transitions.run(() -> tellSuspect(current, detail));
    }

    /** The backend doubts a grant; false if it is not the one that is held. */
    boolean doubt(OwnerId owner, String detail) {
        Tenure current = tenure;
        if (current == null || !current.grant.acquisition().owner().equals(owner)) {
            return false;
        }
        if (!current.isDoubted()) {
            tellSuspect(current, detail);
        }
        current.doubt(client.ticker().nanos());
        transitions.effect(client.renewals()::soon);
        return true;
    }

    private void tellSuspect(Tenure current, String detail) {
        Possession possession = current.possession;
        if (tenure == current && possession != null) {
            client.events().tell(listener -> listener.suspect(name(), possession.token, detail));
        }
    }

    // ---- losing

    /** A transition: ends the grant if its time has passed. */
    void expireIfDue(Tenure current) {
        transitions.run(() -> {
            if (current.remainingNanos(client.ticker()) <= 0) {
                expire(current);
            }
        });
    }

    /** A transition: the server said that the grant has ended. */
    void revoke(Tenure current, LossReason reason, String detail) {
        transitions.run(() -> end(current, reason, detail));
    }

    /** The backend says that a grant has ended; false if it is not the one that is held. */
    boolean lost(OwnerId owner, LossReason reason, String detail) {
        Tenure current = tenure;
        if (current == null || !current.grant.acquisition().owner().equals(owner)) {
            return false;
        }
        end(current, reason, detail);
        return true;
    }

    private void expire(Tenure current) {
        long now = client.ticker().nanos();
        end(current, current.reasonOfEnd(now), current.lastConfirmed(now));
    }

    /** Only the first end of a tenure does anything, and none after its release. */
    private void end(Tenure current, LossReason reason, String detail) {
        if (tenure != current) {
            return;
        }
        leave(current);
        Possession possession = current.possession;
        current.possession = null;
        if (possession != null) {
            lose(possession, reason, detail);
            Thread owner = possession.ownerThread();
            if (owner != null) {
                lost.add(possession);
                client.noteLosses(contender);
                if (current.options.interruptOnLoss() && reason != LossReason.CLIENT_CLOSED) {
                    possession.interruptedByLoss = !owner.isInterrupted(); // else that one is not ours to take back
                    owner.interrupt(); // within the transition, so that it still has its hold
                }
            }
        }
        boolean isGone = reason == LossReason.REVOKED || reason == LossReason.SESSION_LOST;
        long minHoldLeft = current.minHoldLeftNanos(client.ticker().nanos());
        boolean toGiveBack = !isGone || current.uncertain;
        if (toGiveBack && minHoldLeft <= 0) {
            giveBack(current);
        } else if (toGiveBack && reason != LossReason.CLIENT_CLOSED) {
            client.runtime().timer().after(minHoldLeft, () -> transitions.run(() -> giveBack(current)));
        }
        contender.kick();
    }

    private void lose(Possession possession, LossReason reason, String detail) {
        CompletableFuture<LossReason> told = possession.lose(reason, detail);
        if (told != null) {
            transitions.effect(() -> client.runtime().callbacks().execute(() -> told.complete(reason)));
        }
        if (reason != LossReason.CLIENT_CLOSED) {
            transitions.effect(
                    () -> client.warnOfLoss(possession.lostException().getMessage()));
        }
        client.events().tell(listener -> listener.lost(name(), possession.token, reason));
    }

    /** A transition: the future of a possession's loss. */
    CompletableFuture<LossReason> lossOf(Possession possession) {
        return transitions.get(possession::lost);
    }

    /** A transition: whether a thread holds the lock by {@code lock}, and may rely on it. */
    boolean isHeldBy(Thread thread) {
        return transitions.test(() -> {
            Tenure current = tenure;
            Possession possession = current == null ? null : current.possession;
            return current != null
                    && possession != null
                    && possession.isOwnedBy(thread)
                    && !current.isDoubted()
                    && current.remainingNanos(client.ticker()) > 0;
        });
    }

    /** The client closes: what is held is lost and released, what lingers is left to its lease. */
    void close() {
        Tenure current = tenure;
        if (current != null && current.possession != null) {
            end(current, LossReason.CLIENT_CLOSED, "the client was closed");
        } else if (current != null) {
            leave(current);
        }
    }
}
