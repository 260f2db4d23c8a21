package dev.holdfast.lock.engine;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spi.Attempt;
import dev.holdfast.lock.spi.AttemptRequest;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One name as this client contends for it: the local queue, and at most one entry on the server.
 *
 * <p><b>State.</b> Exactly one of these holds: nothing (idle, and then it leaves the client's map), a {@link Pursuit}
 * (an acquisition under way for the first waiter), a {@link Tenure} (the lock is here), or {@code releasing}. Waiters
 * queue in all of them; {@link #kick} starts a pursuit when there is a waiter and none of the others.
 *
 * <p><b>Discipline.</b> Every transition runs between {@link #enter} and {@link #exit}: under the mutex it changes state
 * only, and notes as <em>effects</em> whatever calls out (the backend, a waiter's thread, a log). The effects run after
 * the mutex was left, in order, on the same thread. Hence no call is ever made with the mutex held, an answer that comes
 * back at once simply enters again, and two transitions never interleave.
 *
 * <p><b>Races</b> are settled by the state that a transition finds. An answer to a pursuit that is not current any more
 * was given up: if it is a grant it is released at once. A waiter that leaves is either still in the queue, and then no
 * grant can reach it, or was granted, and then it is told so. A signal during an attempt repeats the attempt, as the
 * answer may be older. A pursuit whose waiter left serves the next one with the same terms, or is abandoned.
 *
 * <p><b>Hand-off</b> is lock cohorting (Dice, Marathe, Shavit: Lock Cohorting, PPoPP 2012): the local queue is the local
 * lock, the grant the global one, which is kept for a bounded number of hand-offs and a bounded time. Unlike there each
 * hand-off mints a token, so that fencing tells apart two threads of one process.
 */
final class Contender {
    private static final Logger LOG = LoggerFactory.getLogger(Contender.class);

    private final String name;
    private final EngineClient client;
    private final ReentrantLock mutex = new ReentrantLock();
    private final WaitQueue queue = new WaitQueue();
    private @Nullable Pursuit pursuit;
    private @Nullable Tenure tenure;
    private boolean releasing;
    private boolean retired;
    private @Nullable List<Runnable> effects;

    Contender(String name, EngineClient client) {
        this.name = name;
        this.client = client;
    }

    String name() {
        return name;
    }

    private void enter() {
        mutex.lock();
    }

    private void exit() {
        List<Runnable> todo = effects;
        effects = null;
        if (pursuit == null && tenure == null && !releasing && !retired && queue.isEmpty()) {
            retired = true;
            client.forget(this);
        }
        mutex.unlock();
        if (todo != null) {
            todo.forEach(Runnable::run);
        }
    }

    private void effect(Runnable effect) {
        if (effects == null) {
            effects = new ArrayList<>(4);
        }
        effects.add(effect);
    }

    // ---- callers come and go

    /** Lets a waiter in: it may be decided at once. False if this object is retired and a new one is to be used. */
    boolean submit(Waiter waiter) {
        enter();
        try {
            if (retired) {
                return false;
            }
            if (client.isClosed()) {
                fail(waiter, Failures.closed(name));
            } else if (!reenter(waiter)) {
                client.events().tell(listener -> listener.attempted(name));
                if (waiter.triesOnce() && (tenure != null || releasing || !queue.isEmpty())) {
                    decide(waiter, Waiter.State.BUSY);
                } else {
                    queue.add(waiter);
                    kick();
                }
            }
            return true;
        } finally {
            exit();
        }
    }

    private boolean reenter(Waiter waiter) {
        Tenure current = tenure;
        Possession mine = current == null ? null : current.possession;
        if (current != null && mine != null && mine.isOwnedBy(waiter.thread())) {
            if (current.remainingNanos(client.ticker()) > 0) {
                mine.addHold(waiter.asLease);
                waiter.possession = mine;
                decide(waiter, Waiter.State.GRANTED);
                return true;
            }
            end(
                    current,
                    Renewals.reasonOf(current, client.ticker().nanos()),
                    current.lastConfirmed(client.ticker().nanos()));
        }
        Possession lost = client.lostHolds().find(waiter.thread(), name);
        if (lost != null) {
            fail(waiter, lost.lostException());
            return true;
        }
        return false;
    }

    /** The caller does not want the lock any more; false if it has been decided already. */
    boolean cancel(Waiter waiter) {
        enter();
        try {
            return leave(waiter, Waiter.State.CANCELLED);
        } finally {
            exit();
        }
    }

    /** The caller's deadline has passed: busy, if somebody else has the lock, or unavailable, if nobody could be asked. */
    void timeOut(Waiter waiter) {
        enter();
        try {
            Pursuit current = pursuit;
            LockException failure = null;
            if (current != null && current.lastFailure != null) {
                failure = current.lastFailure;
            } else if (current != null && !current.answered) {
                failure = Failures.stalled(name, waiter.timeoutNanos);
            }
            waiter.failure = waiter.state == Waiter.State.WAITING ? failure : waiter.failure;
            leave(waiter, failure == null ? Waiter.State.BUSY : Waiter.State.FAILED);
        } finally {
            exit();
        }
    }

    private boolean leave(Waiter waiter, Waiter.State state) {
        if (waiter.state != Waiter.State.WAITING) {
            return false;
        }
        queue.remove(waiter);
        decide(waiter, state);
        Pursuit current = pursuit;
        boolean undoneAttempt = waiter.takeTask() != null;
        if (current != null && (undoneAttempt || !current.inFlight)) {
            current.inFlight = false;
            Waiter head = queue.head();
            if (head == null || !current.serves(head.options)) {
                retire(current);
                kick();
            } else if (undoneAttempt) {
                attempt(current);
            }
        }
        return true;
    }

    private void decide(Waiter waiter, Waiter.State state) {
        waiter.state = state;
        if (waiter.thread() != Thread.currentThread()) {
            effect(waiter::wakeUp);
        }
    }

    private void fail(Waiter waiter, LockException failure) {
        waiter.failure = failure;
        decide(waiter, Waiter.State.FAILED);
    }

    // ---- the acquisition under way

    private void kick() {
        Waiter head = queue.head();
        if (head != null && pursuit == null && tenure == null && !releasing) {
            Pursuit begun = new Pursuit(name, head.options);
            pursuit = begun;
            attempt(begun);
        }
    }

    private void attempt(Pursuit current) {
        Waiter head = queue.head();
        if (head == null) {
            throw new IllegalStateException("lock '" + name + "': attempt without a waiter");
        }
        current.timer.close();
        current.inFlight = true;
        current.signalledInFlight = false;
        int round = ++current.round;
        long wait = head.after != null
                ? Waiter.FOREVER
                : head.remainingNanos(client.ticker().nanos());
        if (wait == 0 && (current.queued || !head.triesOnce())) {
            wait = 1; // its deadline has just passed; the place in the queue, if any, is given up by abandon alone
        }
        current.askedToWait = wait > 0;
        long timeout = client.requestTimeoutNanos();
        if (client.info().blocking() && !head.triesOnce()) {
            timeout = Math.max(
                    1_000_000,
                    Math.min(timeout, head.remainingNanos(client.ticker().nanos())));
        }
        AttemptRequest request = new AttemptRequest(
                current.acquisition,
                current.leaseMillis,
                Durations.ceilMillis(wait),
                current.fair,
                current.ticket,
                Durations.ceilMillis(timeout),
                client.identity());
        long timeoutNanos = timeout;
        Runnable send = () -> send(current, round, request, timeoutNanos);
        if (!client.info().blocking()) {
            effect(send);
        } else if (head.thread() == null) {
            effect(() -> client.runtime().io().execute(send));
        } else {
            head.offer(send);
            if (head.thread() != Thread.currentThread()) {
                effect(head::wakeUp);
            }
        }
    }

    private void send(Pursuit current, int round, AttemptRequest request, long timeoutNanos) {
        Requests.Request underWay = client.info().blocking()
                ? client.requests().begin()
                : client.requests()
                        .begin(
                                timeoutNanos,
                                () -> answered(current, round, null, null, Failures.stalled(name, timeoutNanos)));
        Sent sent = Sent.now(client.ticker());
        Failures.call(() -> client.backend().attempt(request)).whenComplete((answer, error) -> {
            answered(current, round, sent, answer, error);
            underWay.end();
        });
    }

    private void answered(
            Pursuit current, int round, @Nullable Sent sent, @Nullable Attempt answer, @Nullable Throwable error) {
        enter();
        try {
            if (answer instanceof Attempt.Granted granted && sent != null) {
                granted(current, sent, granted.grant());
            } else if (pursuit == current && round == current.round && current.inFlight) {
                current.inFlight = false;
                if (answer instanceof Attempt.Busy busy) {
                    busy(current, busy);
                } else {
                    failed(current, Failures.of(name, error));
                }
            }
        } finally {
            exit();
        }
    }

    private void granted(Pursuit current, Sent sent, Grant grant) {
        if (pursuit != current) {
            boolean isHeld = tenure != null && tenure.grant.acquisition().equals(grant.acquisition());
            if (!isHeld) {
                effect(() -> client.leftovers().abandon(grant.acquisition()));
            }
            return;
        }
        current.inFlight = false;
        Waiter head = queue.head();
        if (head == null || current.lostEarly || !current.serves(head.options)) {
            close(current);
            effect(() -> client.leftovers().abandon(grant.acquisition()));
            kick();
            return;
        }
        long now = client.ticker().nanos();
        Tenure granted = new Tenure(this, grant, head.options, now, sent, current.uncertain);
        if (granted.remainingNanos(client.ticker()) <= 0) {
            failed(
                    current,
                    new LockUnavailableException("lock '" + name + "': the store took "
                            + Durations.text(now - sent.nanos()) + " to grant a lease of " + grant.leaseMillis()
                            + " ms, which has passed meanwhile; lengthen the lease"));
            return;
        }
        close(current);
        tenure = granted;
        give(granted, head, false);
        client.renewals().add(granted);
    }

    private void busy(Pursuit current, Attempt.Busy busy) {
        current.noteBusy(busy.ticket());
        Waiter head = queue.head();
        while (head != null && head.triesOnce()) {
            queue.remove(head);
            decide(head, Waiter.State.BUSY);
            head = queue.head();
        }
        if (head == null || !current.serves(head.options)) {
            retire(current);
            kick();
        } else if (current.signalledInFlight || !current.askedToWait) {
            attempt(current);
        } else {
            Ticket ticket = busy.ticket();
            if (ticket != null && !ticket.equals(current.listeningTo)) {
                current.listeningTo = ticket;
                effect(() -> listen(current, ticket));
            }
            long delay = current.pollDelayNanos(client.info(), busy.remainingMillis(), client.random());
            current.timer = client.runtime().timer().after(delay, () -> poll(current));
        }
    }

    private void listen(Pursuit current, Ticket ticket) {
        Subscription subscription = client.backend().signal(ticket, () -> signalled(current));
        Subscription useless = subscription;
        enter();
        try {
            if (pursuit == current && ticket.equals(current.listeningTo)) {
                useless = current.signal;
                current.signal = subscription;
            }
        } finally {
            exit();
        }
        useless.close();
    }

    private void signalled(Pursuit current) {
        enter();
        try {
            if (pursuit == current) {
                current.resetBackOff();
                if (current.inFlight) {
                    current.signalledInFlight = true;
                } else {
                    attempt(current);
                }
            }
        } finally {
            exit();
        }
    }

    private void poll(Pursuit current) {
        enter();
        try {
            if (pursuit == current && !current.inFlight) {
                attempt(current);
            }
        } finally {
            exit();
        }
    }

    private void failed(Pursuit current, LockException failure) {
        long now = client.ticker().nanos();
        current.noteFailure(failure, now);
        boolean transientFailure = failure instanceof LockUnavailableException;
        Waiter first = queue.head();
        for (Waiter waiter = first; waiter != null; ) {
            Waiter next = waiter.after;
            boolean gaveUp = waiter.triesOnce()
                    || waiter.waitsForever()
                            && now - current.failingSinceNanos >= client.unavailableTimeoutNanos()
                            && now - waiter.sinceNanos >= client.unavailableTimeoutNanos();
            if (gaveUp || waiter == first && !transientFailure) {
                queue.remove(waiter);
                fail(waiter, failure);
            }
            waiter = next;
        }
        Waiter head = queue.head();
        if (head == null || !transientFailure || !current.serves(head.options)) {
            retire(current);
            kick();
        } else {
            current.timer =
                    client.runtime().timer().after(current.retryDelayNanos(client.random()), () -> poll(current));
        }
    }

    /** The acquisition is given up: whatever it has on the server is removed. */
    private void retire(Pursuit current) {
        boolean mayBeOnServer = current.mayBeOnServer();
        close(current);
        if (mayBeOnServer) {
            effect(() -> client.leftovers().abandon(current.acquisition));
        }
    }

    private void close(Pursuit current) {
        pursuit = null;
        current.timer.close();
        effect(current::stopListening);
    }

    // ---- holding

    private void give(Tenure granted, Waiter waiter, boolean handedOff) {
        queue.remove(waiter);
        long now = client.ticker().nanos();
        Possession possession = new Possession(granted, granted.token(), now, waiter.thread());
        possession.addHold(waiter.asLease);
        granted.beginHold(waiter.options, now);
        granted.possession = possession;
        granted.options = waiter.options;
        waiter.possession = possession;
        decide(waiter, Waiter.State.GRANTED);
        long waited = now - waiter.sinceNanos;
        client.events()
                .tell(listener -> listener.acquired(name, possession.token, Duration.ofNanos(waited), handedOff));
    }

    /**
     * Ends a {@code lock} hold of the calling thread.
     *
     * @return the release, or null if there are more holds or the lock was handed on
     * @throws IllegalMonitorStateException if the thread has none
     * @throws LeaseLostException if the lease was lost
     */
    @Nullable Release unlock(Thread thread) {
        enter();
        try {
            Tenure current = tenure;
            Possession mine = current == null ? null : current.possession;
            if (mine == null || !mine.isOwnedBy(thread) || !mine.hasLockHolds()) {
                mine = client.lostHolds().find(thread, name);
                if (mine == null || !mine.hasLockHolds()) {
                    throw Failures.notHeld(name, thread);
                }
            }
            return endHold(mine, false);
        } finally {
            exit();
        }
    }

    /** Ends the hold of a lease that is closed, on whatever thread. */
    @Nullable Release close(Possession possession) {
        enter();
        try {
            return endHold(possession, true);
        } finally {
            exit();
        }
    }

    /** Ends the hold of a lease that was dropped. */
    void endDropped(Possession possession) {
        enter();
        try {
            endHold(possession, true);
        } catch (LeaseLostException alreadyReported) {
            LOG.debug("{}", alreadyReported.getMessage());
        } finally {
            exit();
        }
    }

    private @Nullable Release endHold(Possession possession, boolean asLease) {
        Tenure current = possession.tenure;
        long now = client.ticker().nanos();
        if (possession.state == Possession.State.HELD && current.remainingNanos(client.ticker()) <= 0) {
            end(current, Renewals.reasonOf(current, now), current.lastConfirmed(now));
        }
        possession.endHold(asLease);
        if (possession.state == Possession.State.LOST) {
            if (!possession.hasHolds()) {
                client.lostHolds().remove(possession);
            }
            throw possession.lostException();
        }
        if (possession.state != Possession.State.HELD || possession.hasHolds()) {
            return null;
        }
        possession.state = Possession.State.RELEASED;
        long heldNanos = now - possession.acquiredNanos;
        long lingerNanos = Durations.nanos(current.options.minHold()) - heldNanos;
        Waiter next = queue.head();
        if (lingerNanos > 0) {
            current.possession = null;
            tellReleased(possession, heldNanos);
            client.runtime().timer().after(lingerNanos, () -> endLinger(current));
            return null;
        }
        if (next != null && mayHandOff(current, next, now)) {
            tellReleased(possession, heldNanos);
            current.handOffs++;
            give(current, next, true);
            return null;
        }
        return release(current, possession, heldNanos);
    }

    private void endLinger(Tenure lingering) {
        enter();
        try {
            if (tenure == lingering) {
                tenure = null;
                client.renewals().remove(lingering);
                giveBack(lingering);
                kick();
            }
        } finally {
            exit();
        }
    }

    /** Releases what nobody waits for. */
    private void giveBack(Tenure ended) {
        if (ended.uncertain) {
            effect(() -> client.leftovers().abandon(ended.grant.acquisition()));
        } else {
            effect(() -> client.leftovers().release(ended.grant));
        }
    }

    private boolean mayHandOff(Tenure current, Waiter next, long nowNanos) {
        return !next.options.fair()
                && current.autoRenew
                && next.options.renewal() == Renewal.AUTO
                && next.options.lease().equals(current.options.lease())
                && !current.options.fair()
                && !current.isDoubted()
                && current.failedRenewals.get() == 0
                && current.handOffs < client.options().handOffLimit()
                && nowNanos - current.grantedNanos < client.handOffNanos()
                && current.remainingNanos(client.ticker()) > current.thirdOfLeaseNanos();
    }

    private Release release(Tenure current, Possession possession, long heldNanos) {
        tenure = null;
        releasing = true;
        client.renewals().remove(current);
        CompletableFuture<@Nullable ReleaseResult> outcome = new CompletableFuture<>();
        effect(() -> client.leftovers().releaseHere(current.grant, result -> {
            released(possession, heldNanos, result);
            outcome.complete(result);
        }));
        return new Release(possession, outcome);
    }

    private void released(Possession possession, long heldNanos, @Nullable ReleaseResult result) {
        enter();
        try {
            releasing = false;
            if (result == ReleaseResult.NOT_HELD) {
                lose(possession, LossReason.REVOKED, "the store did not have it any more at release");
            } else {
                tellReleased(possession, heldNanos);
            }
            if (possession.tenure.uncertain) {
                effect(() -> client.leftovers().abandon(possession.tenure.grant.acquisition()));
            }
            kick();
        } finally {
            exit();
        }
    }

    private void tellReleased(Possession possession, long heldNanos) {
        client.events().tell(listener -> listener.released(name, possession.token, Duration.ofNanos(heldNanos)));
    }

    // ---- losing

    /** Whether the grant is worth renewing; if not, it is left to run out. */
    boolean mayRenew(Tenure current) {
        enter();
        try {
            Possession possession = current.possession;
            if (tenure == current && possession != null && possession.isOrphaned()) {
                current.abandonedBecause = LossReason.OWNER_DIED;
            }
            return tenure == current && current.abandonedBecause == null;
        } finally {
            exit();
        }
    }

    /** The grant's time has passed. */
    void expire(Tenure current) {
        long now = client.ticker().nanos();
        lose(current, Renewals.reasonOf(current, now), current.lastConfirmed(now));
    }

    /** The grant has ended. Only the first call for a tenure does anything, and none after its release. */
    void lose(Tenure current, LossReason reason, String detail) {
        enter();
        try {
            end(current, reason, detail);
        } finally {
            exit();
        }
    }

    private void end(Tenure current, LossReason reason, String detail) {
        if (tenure != current) {
            return;
        }
        tenure = null;
        client.renewals().remove(current);
        Possession possession = current.possession;
        current.possession = null;
        if (possession != null) {
            possession.state = Possession.State.LOST;
            if (possession.owner != null) {
                Thread owner = possession.owner.get();
                if (owner != null) {
                    client.lostHolds().add(owner, possession);
                    if (current.options.interruptOnLoss()) {
                        owner.interrupt();
                    }
                }
            }
            lose(possession, reason, detail);
        }
        if (current.uncertain || reason != LossReason.REVOKED && reason != LossReason.SESSION_LOST) {
            giveBack(current);
        }
        kick();
    }

    private void lose(Possession possession, LossReason reason, String detail) {
        CompletableFuture<LossReason> told = possession.lose(reason, detail);
        if (told != null) {
            effect(() -> client.runtime().callbacks().execute(() -> told.complete(reason)));
        }
        if (reason != LossReason.CLIENT_CLOSED) {
            effect(() -> LOG.warn("{}", possession.lostException().getMessage()));
        }
        client.events().tell(listener -> listener.lost(name, possession.token, reason));
    }

    /** A renewal failed: the holder is told, and keeps the lease while it is valid. */
    void suspected(Tenure current, String detail) {
        enter();
        try {
            Possession possession = current.possession;
            if (tenure == current && possession != null) {
                client.events().tell(listener -> listener.suspect(name, possession.token, detail));
            }
        } finally {
            exit();
        }
    }

    /** The backend doubts a grant. */
    void doubt(OwnerId owner, String detail) {
        enter();
        try {
            Tenure current = tenure;
            if (current != null && current.grant.acquisition().owner().equals(owner) && !current.isDoubted()) {
                current.doubt(client.ticker().nanos());
                effect(() -> suspected(current, detail));
                effect(client.renewals()::soon);
            }
        } finally {
            exit();
        }
    }

    /** The backend says that a grant has ended, perhaps one whose answer has not been seen yet. */
    void lost(OwnerId owner, LossReason reason, String detail) {
        enter();
        try {
            Tenure current = tenure;
            if (current != null && current.grant.acquisition().owner().equals(owner)) {
                end(current, reason, detail);
            } else if (pursuit != null && pursuit.acquisition.owner().equals(owner)) {
                pursuit.lostEarly = true;
            }
        } finally {
            exit();
        }
    }

    /** The future of a possession's loss. */
    CompletableFuture<LossReason> lossOf(Possession possession) {
        enter();
        try {
            return possession.lost();
        } finally {
            exit();
        }
    }

    boolean isHeldBy(Thread thread) {
        enter();
        try {
            Tenure current = tenure;
            Possession possession = current == null ? null : current.possession;
            return current != null
                    && possession != null
                    && possession.isOwnedBy(thread)
                    && !current.isDoubted()
                    && current.remainingNanos(client.ticker()) > 0;
        } finally {
            exit();
        }
    }

    /** The client closes: waiters fail, what is held is lost and released. */
    void close() {
        enter();
        try {
            for (Waiter waiter = queue.head(); waiter != null; waiter = queue.head()) {
                queue.remove(waiter);
                waiter.takeTask();
                fail(waiter, Failures.closed(name));
            }
            if (pursuit != null) {
                retire(pursuit);
            }
            Tenure current = tenure;
            if (current != null && current.possession != null) {
                end(current, LossReason.CLIENT_CLOSED, "the client was closed");
            } else if (current != null) {
                tenure = null;
                client.renewals().remove(current);
            }
        } finally {
            exit();
        }
    }
}
