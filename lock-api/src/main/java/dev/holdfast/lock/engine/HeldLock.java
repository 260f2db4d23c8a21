package dev.holdfast.lock.engine;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spi.AcquisitionId;
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
final class HeldLock {
    private static final Logger LOG = LoggerFactory.getLogger(HeldLock.class);

    private final LockEntry entry;
    private final EngineClient client;
    private final StateMutex mutex;
    private @Nullable HeldGrant heldGrant;
    /**
     * What is being released. The next acquisition is begun when the server has answered, or did not in time; on an
     * ordered store as soon as the release has been sent.
     */
    private @Nullable AcquisitionId releasing;

    private boolean releaseSent;
    private long releaseBegunNanos;
    private final LossesByThread lost = new LossesByThread();

    HeldLock(LockEntry entry) {
        this.entry = entry;
        this.client = entry.client();
        this.mutex = entry.mutex();
    }

    String name() {
        return entry.name();
    }

    LossesByThread lost() {
        return lost;
    }

    boolean isBusy() {
        return heldGrant != null || releasing != null;
    }

    /** Whether the next acquisition may be begun. */
    boolean isFree() {
        return heldGrant == null
                && (releasing == null || releaseSent && client.info().ordered());
    }

    /** Whether that acquisition is the one that is held or being released. */
    boolean holds(AcquisitionId acquisition) {
        return acquisition.equals(releasing)
                || heldGrant != null && heldGrant.grant.acquisition().equals(acquisition);
    }

    // ---- acquiring

    /**
     * Decides a waiter whose thread holds the lock already, or held it and has not noticed its loss. One that asks for a
     * lease never re-enters.
     *
     * @throws IllegalStateException if it asks for a lease and would wait for its own {@code lock} hold to end
     */
    boolean reenter(Waiter waiter) {
        HeldGrant current = heldGrant;
        Hold mine = current == null ? null : current.hold;
        if (current != null && mine != null && mine.isOwnedBy(waiter.thread())) {
            if (current.remainingNanos(client.ticker()) > 0) {
                if (waiter.asLease) {
                    refuseToWaitForItself(waiter, mine);
                    return false;
                }
                mine.addHold();
                waiter.hold = mine;
                entry.decide(waiter, Waiter.State.GRANTED);
                return true;
            }
            expire(current);
        }
        Hold unnoticed = waiter.asLease ? null : lost.find(waiter.thread());
        if (unnoticed != null) {
            entry.fail(waiter, unnoticed.lostException());
        }
        return unnoticed != null;
    }

    private void refuseToWaitForItself(Waiter waiter, Hold own) {
        if (!waiter.triesOnce()) {
            throw Failures.waitsForItself(name(), own.token, waiter.requester);
        }
    }

    /** Who holds the lock; null if nobody does, or a released one lingers. */
    @Nullable Hold hold() {
        return heldGrant == null ? null : heldGrant.hold;
    }

    /** For {@link LockEntry#usage}. */
    Optional<LockUsage.Holder> usage() {
        Hold held = hold();
        if (held == null) {
            return Optional.empty();
        }
        long remaining = held.heldGrant.isDoubted() ? 0 : held.heldGrant.remainingNanos(client.ticker());
        return Optional.of(new LockUsage.Holder(
                held.token,
                held.requesterName(),
                !held.isOfThread(),
                client.wallTimeOf(held.acquiredNanos),
                Duration.ofNanos(Math.max(0, remaining))));
    }

    /** The server's grant has come. */
    void begin(HeldGrant granted, Waiter waiter) {
        heldGrant = granted;
        give(granted, waiter, false);
        client.renewals().add(granted);
    }

    private void give(HeldGrant current, Waiter waiter, boolean handedOff) {
        entry.queue().remove(waiter);
        long now = client.ticker().nanos();
        Hold hold = new Hold(current, current.token(), now, waiter);
        current.beginHold(hold, waiter.options, now);
        waiter.hold = hold;
        entry.decide(waiter, Waiter.State.GRANTED);
        Duration waited = Duration.ofNanos(now - waiter.sinceNanos);
        client.events().tell(listener -> listener.acquired(name(), hold.token, waited, handedOff));
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
        return mutex.<@Nullable Release>get(() -> {
            Hold mine = holdOf(thread);
            if (mine == null) {
                throw Failures.notHeld(name(), thread);
            }
            return endHold(mine, true);
        });
    }

    /** A transition: whether a thread that is interrupted and ends its last hold was interrupted to be told of a loss; once. */
    boolean takeInterruptOfLoss(Thread thread) {
        return mutex.test(() -> {
            Hold unnoticed = lost.find(thread);
            return unnoticed != null && unnoticed.isLastHold() && unnoticed.takeInterruptOfLoss();
        });
    }

    /** A transition: the same for the owner of that hold. */
    boolean takeInterruptOfLoss(Hold hold) {
        return mutex.test(() -> hold.isLastHold() && hold.takeInterruptOfLoss());
    }

    /** What a thread holds by {@code lock}, or held when it was lost; null if nothing. */
    private @Nullable Hold holdOf(Thread thread) {
        Hold mine = hold();
        return mine != null && mine.isOwnedBy(thread) ? mine : lost.find(thread);
    }

    /** A transition: what a thread holds by {@code lock}, or held when it was lost; null if nothing. */
    @Nullable Hold heldBy(Thread thread) {
        return mutex.<@Nullable Hold>get(() -> holdOf(thread));
    }

    /** A transition: ends a hold, on whatever thread. */
    @Nullable Release end(Hold hold) {
        return mutex.<@Nullable Release>get(() -> endHold(hold, true));
    }

    /** A transition: ends the hold of a lease that was dropped; a blocking release is made elsewhere. */
    void endDropped(Hold hold) {
        mutex.run(() -> {
            try {
                endHold(hold, false);
            } catch (LeaseLostException alreadyReported) {
                LOG.debug("{}", alreadyReported.getMessage());
            }
        });
    }

    private @Nullable Release endHold(Hold hold, boolean here) {
        HeldGrant current = hold.heldGrant;
        if (hold.state == Hold.State.HELD && current.remainingNanos(client.ticker()) <= 0) {
            expire(current);
        }
        hold.endHold();
        if (hold.state == Hold.State.LOST) {
            if (!hold.hasHolds()) {
                lost.remove(hold);
                if (lost.isEmpty()) {
                    client.forgetLosses(entry);
                }
                if (hold.takeInterruptOfLoss()) {
                    Thread.interrupted(); // it came while this thread was about to end the hold
                }
            }
            throw hold.lostException();
        }
        if (hold.state != Hold.State.HELD || hold.hasHolds()) {
            return null;
        }
        hold.state = Hold.State.RELEASED;
        long now = client.ticker().nanos();
        Waiter next = entry.queue().head();
        if (current.minHoldLeftNanos(now) > 0) {
            current.hold = null;
            tellReleased(hold, now);
            client.runtime().timer().after(current.minHoldLeftNanos(now), () -> endLinger(current));
            return null;
        }
        if (next != null && mayHandOff(current, next, now)) {
            tellReleased(hold, now);
            current.handOffs++;
            give(current, next, true);
            return null;
        }
        return release(current, hold, here);
    }

    private boolean mayHandOff(HeldGrant current, Waiter next, long nowNanos) {
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

    private Release release(HeldGrant current, Hold hold, boolean here) {
        leave(current);
        AcquisitionId released = current.grant.acquisition();
        releasing = released;
        releaseSent = false;
        releaseBegunNanos = client.ticker().nanos();
        CompletableFuture<@Nullable ReleaseResult> outcome = new CompletableFuture<>();
        mutex.afterUnlock(client.releaser().release(current.grant, here, result -> {
            mutex.run(() -> released(hold, result));
            outcome.complete(result);
        }));
        if (client.info().ordered()) {
            mutex.afterUnlock(() -> sent(released)); // effects run in order: the release has been sent by then
        }
        return new Release(hold, outcome);
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
                && !entry.wasAnsweredSince(now - silentNanos);
        return silent ? Failures.stalled(name(), now - releaseBegunNanos) : null;
    }

    /** A transition: a release has been sent; on an ordered store the next attempt may go right behind it. */
    private void sent(AcquisitionId released) {
        mutex.run(() -> {
            if (released.equals(releasing)) {
                releaseSent = true;
                entry.kick();
            }
        });
    }

    private void released(Hold hold, @Nullable ReleaseResult result) {
        if (hold.heldGrant.grant.acquisition().equals(releasing)) { // else a later one is being released by now
            releasing = null;
        }
        if (result == ReleaseResult.NOT_HELD) {
            lose(hold, LossReason.REVOKED, "the store did not have it any more at release");
        } else {
            tellReleased(hold, client.ticker().nanos());
        }
        if (result != null) {
            entry.noteAnswer();
        }
        if (hold.heldGrant.uncertain) {
            entry.abandon(hold.heldGrant.grant.acquisition(), hold.heldGrant.leaseMillis());
        }
        entry.kick();
    }

    private void tellReleased(Hold hold, long nowNanos) {
        Duration held = Duration.ofNanos(nowNanos - hold.acquiredNanos);
        client.events().tell(listener -> listener.released(name(), hold.token, held));
    }

    /** A transition: the lock was released early, and its {@code minHold} is over now. */
    private void endLinger(HeldGrant lingering) {
        mutex.run(() -> {
            if (heldGrant == lingering) {
                leave(lingering);
                giveBack(lingering);
                entry.kick();
            }
        });
    }

    private void leave(HeldGrant current) {
        heldGrant = null;
        client.renewals().remove(current);
    }

    /** Releases what nobody waits for. */
    private void giveBack(HeldGrant ended) {
        if (ended.uncertain) {
            entry.abandon(ended.grant.acquisition(), ended.leaseMillis());
        } else {
            mutex.afterUnlock(client.releaser().release(ended.grant, false, ignored -> {}));
        }
    }

    // ---- renewing

    /** A transition: whether the grant is worth renewing; if not, it is left to run out. */
    boolean mayRenew(HeldGrant current) {
        return mutex.test(() -> {
            Hold hold = current.hold;
            if (heldGrant == current && hold != null && hold.isOrphaned()) {
                current.abandonedBecause = LossReason.OWNER_DIED;
            }
            return heldGrant == current && current.abandonedBecause == null;
        });
    }

    /** A transition: a renewal that was sent then is confirmed. */
    void confirm(HeldGrant current, RequestTime sent, long leaseMillis, boolean extend) {
        mutex.run(() -> {
            current.confirm(sent, client.ticker().nanos(), leaseMillis, extend);
            Hold hold = current.hold;
            if (heldGrant == current && hold != null) {
                client.events().tell(listener -> listener.renewed(name(), hold.token));
            }
        });
    }

    /** A transition: a renewal failed. The holder is told, and keeps the lease while it is valid. */
    void suspected(HeldGrant current, String detail) {
        mutex.run(() -> tellSuspect(current, detail));
    }

    /** The backend doubts a grant; false if it is not the one that is held. */
    boolean doubt(OwnerId owner, String detail) {
        HeldGrant current = heldGrant;
        if (current == null || !current.grant.acquisition().owner().equals(owner)) {
            return false;
        }
        if (!current.isDoubted()) {
            tellSuspect(current, detail);
        }
        current.doubt(client.ticker().nanos());
        mutex.afterUnlock(client.renewals()::soon);
        return true;
    }

    private void tellSuspect(HeldGrant current, String detail) {
        Hold hold = current.hold;
        if (heldGrant == current && hold != null) {
            client.events().tell(listener -> listener.suspect(name(), hold.token, detail));
        }
    }

    // ---- losing

    /** A transition: ends the grant if its time has passed. */
    void expireIfDue(HeldGrant current) {
        mutex.run(() -> {
            if (current.remainingNanos(client.ticker()) <= 0) {
                expire(current);
            }
        });
    }

    /** A transition: the server said that the grant has ended. */
    void revoke(HeldGrant current, LossReason reason, String detail) {
        mutex.run(() -> end(current, reason, detail));
    }

    /** The backend says that a grant has ended; false if it is not the one that is held. */
    boolean lost(OwnerId owner, LossReason reason, String detail) {
        HeldGrant current = heldGrant;
        if (current == null || !current.grant.acquisition().owner().equals(owner)) {
            return false;
        }
        end(current, reason, detail);
        return true;
    }

    private void expire(HeldGrant current) {
        long now = client.ticker().nanos();
        end(current, current.reasonOfEnd(now), current.lastConfirmed(now));
    }

    /** Only the first end of a grant does anything, and none after its release. */
    private void end(HeldGrant current, LossReason reason, String detail) {
        if (heldGrant != current) {
            return;
        }
        leave(current);
        Hold hold = current.hold;
        current.hold = null;
        if (hold != null) {
            lose(hold, reason, detail);
            Thread owner = hold.ownerThread();
            if (owner != null) {
                lost.add(hold);
                client.noteLosses(entry);
                if (current.options.interruptOnLoss() && reason != LossReason.CLIENT_CLOSED) {
                    hold.interruptedByLoss = !owner.isInterrupted(); // else that one is not ours to take back
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
            client.runtime().timer().after(minHoldLeft, () -> mutex.run(() -> giveBack(current)));
        }
        entry.kick();
    }

    private void lose(Hold hold, LossReason reason, String detail) {
        CompletableFuture<LossReason> told = hold.lose(reason, detail);
        if (told != null) {
            mutex.afterUnlock(() -> client.runtime().callbacks().execute(() -> told.complete(reason)));
        }
        if (reason != LossReason.CLIENT_CLOSED) {
            mutex.afterUnlock(() -> client.warnOfLoss(hold.lostException().getMessage()));
        }
        client.events().tell(listener -> listener.lost(name(), hold.token, reason));
    }

    /** A transition: the future of a hold's loss. */
    CompletableFuture<LossReason> lossOf(Hold hold) {
        return mutex.get(hold::lost);
    }

    /** A transition: whether a thread holds the lock by {@code lock}, and may rely on it. */
    boolean isHeldBy(Thread thread) {
        return mutex.test(() -> {
            HeldGrant current = heldGrant;
            Hold hold = current == null ? null : current.hold;
            return current != null
                    && hold != null
                    && hold.isOwnedBy(thread)
                    && !current.isDoubted()
                    && current.remainingNanos(client.ticker()) > 0;
        });
    }

    /** The client closes: what is held is lost and released, what lingers is left to its lease. */
    void close() {
        HeldGrant current = heldGrant;
        if (current != null && current.hold != null) {
            end(current, LossReason.CLIENT_CLOSED, "the client was closed");
        } else if (current != null) {
            leave(current);
        }
    }
}
