package dev.holdfast.lock.spi;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.StoreFinding;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * One lock store, as the engine uses it.
 *
 * <p><b>Outcomes.</b> A stage that completes normally carries what the server said. A stage that fails with
 * {@link dev.holdfast.lock.LockUnavailableException} means that the outcome is unknown and that trying again may help.
 * {@link dev.holdfast.lock.LockConfigurationException} is for what the user can mend: the store refused the request. If it
 * could leave anything for longer than a lease all the same, it is cleaned up by one {@link #abandon}. Any other exception is
 * final for the caller too; its outcome on the server is unknown, and is cleaned up by {@link #abandon}.
 * {@link FailureTranslator} makes these exceptions from those of a store's client.
 *
 * <p><b>Messages</b> say what was observed and what to do, and contain no secret. They do not name the lock: the engine puts
 * its name before them.
 *
 * <p><b>Threads.</b> Thread-safe. If {@link BackendInfo#blocking()}, each method does its work on the calling thread and
 * returns a completed stage within the time-out. If it does not, the engine serves others, but it cannot get back the
 * thread that is in the call, and it has few threads of its own for such calls. Otherwise each method returns at once.
 * Stages complete and callbacks run on threads that allow short, non-blocking code, calls of this interface among it; if a
 * client library forbids that on its threads, the backend hops to another one first. The engine bounds the wait for a stage
 * that never completes, and copes with one that completes late.
 *
 * <p><b>Demands.</b> A backend with no other demand than {@link dev.holdfast.lock.Demand.Exclusive} need not look at
 * {@link AcquireRequest#demand()}. One with more of them ({@link BackendInfo#demands}) keeps one line a name, and grants a
 * request when what is held and what is ahead of it in that line leaves room: nothing beside an exclusive demand, shares beside
 * shares, and permits beside permits as long as their sum is within the limit. Renewal, release and abandonment are by owner for
 * all of them.
 *
 * <p><b>Time-outs.</b> {@code timeoutMillis} is how long the engine waits for that one call, however many requests the
 * backend makes for it; positive.
 */
public interface LockBackend extends AutoCloseable {

    /**
     * Describes this backend.
     *
     * @return constant facts
     */
    BackendInfo info();

    /**
     * Sets the listener for grants that end, or are in doubt, between two renewals. Called once, before anything else. A
     * backend that learns of nothing between renewals ignores it.
     *
     * @param listener the engine's listener; cheap, non-blocking, callable from any thread
     */
    default void setGrantListener(GrantListener listener) {}

    /**
     * Tries to acquire a lock for an acquisition.
     *
     * <p>Idempotent by {@link AcquisitionId#owner()}: if an earlier attempt of the same acquisition was granted, although
     * its reply was lost, this one answers {@link AcquireResult.Granted} with the same token, and a lease counted anew.
     * Where several servers decide, the token may be another one: others of them may be the first to answer this time. It
     * is still greater than that of every earlier grant.
     *
     * <p>With {@link AcquireRequest#waitMillis()} of zero, {@link AcquireResult.Busy} leaves nothing on the server. A backend
     * that cannot be sure of that adds a ticket: then the engine abandons the acquisition. Otherwise Busy may leave a
     * place in the store's queue, named by its ticket and kept until it is granted or {@link #abandon}ed.
     *
     * <p>An attempt of several requests may be abandoned between two of them: if what it took is gone, it answers
     * {@link AcquireResult.Busy} and does not take the lock again.
     *
     * @param request what is asked for
     * @return granted or busy
     */
    CompletionStage<AcquireResult> tryAcquire(AcquireRequest request);

    /**
     * Calls back when the lock may have become free for the ticket's acquisition. It may call too often, too late or,
     * after trouble with the server, not at all: the engine polls in any case. If the lock became free between the attempt
     * that gave the ticket and this call, it calls back all the same. The engine subscribes once to a ticket: as long as
     * attempts answer with an equal one, even if its place in the queue has changed, the backend uses the same callback.
     *
     * @param ticket from {@link AcquireResult.Busy}
     * @param onMaybeFree cheap and non-blocking; starts the next attempt on the calling thread
     * @return the engine closes it when it needs no more calls
     */
    default Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        return Subscription.NONE;
    }

    /**
     * Removes whatever an acquisition has on the server: a place in the queue, a grant, or nothing. Once the stage has
     * completed normally, no earlier attempt of that acquisition, not even one that is still on its way, leaves anything
     * behind for longer than its lease.
     *
     * @param acquisition the acquisition to end; never attempted again
     * @param timeoutMillis how long the engine waits
     * @return completes when the server has confirmed it
     */
    CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis);

    /**
     * Renews grants to their full lease from now on, in one round trip if the store can do that.
     *
     * @param grants the grants that are due; not empty
     * @param timeoutMillis how long the engine waits
     * @return one result a grant, in the same order; a failure as a whole means {@link RenewResult.Unknown} for all
     */
    CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis);

    /**
     * Releases a grant if it is still held by its owner. Idempotent.
     *
     * @param grant the grant
     * @param timeoutMillis how long the engine waits
     * @return whether it was still held
     */
    CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis);

    /**
     * Returns who holds a lock.
     *
     * @param name the lock's name
     * @param timeoutMillis how long the engine waits
     * @return the holder, its token as in {@link Grant#token()}; the first one if there are several; empty if nobody holds it
     */
    CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis);

    /**
     * Returns all who hold a lock. A backend with other than exclusive demands implements this, and {@link #holder} by it.
     *
     * @param name the lock's name
     * @param timeoutMillis how long the engine waits
     * @return the holders, the lowest token first, each with its demand and, if it has permits, its slot
     */
    default CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        return holder(name, timeoutMillis).thenApply(holder -> holder.stream().toList());
    }

    /**
     * Changes the limit of a name's permits, unless it is neither the one that it is to be changed from nor, after an earlier
     * try, the new one. What is held stays so; whoever asks with another limit than the stored one is answered
     * {@link AcquireResult.OtherLimit}, a waiter too. Signals the waiters, as it may make room. Only called if
     * {@link BackendInfo#demands} has permits.
     *
     * @param name the semaphore's name
     * @param from the limit that is expected; if none is stored, this one counts as stored
     * @param to the new limit, positive
     * @param timeoutMillis how long the engine waits
     * @return the limit that is stored now: {@code to}, or another one, which was not touched
     */
    default CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
        return CompletableFuture.failedStage(new LockConfigurationException(info().name() + " has no permits"));
    }

    /**
     * Lists what is held or waited for. One page: a backend reads no more than it needs for it, and no more than fits in the
     * time-out. Only called if {@link BackendInfo#listing()}.
     *
     * @param prefix what the names begin with; empty for all
     * @param limit the most locks, positive
     * @param timeoutMillis how long the engine waits
     * @return the locks by name, tokens as in {@link Grant#token()}
     */
    default CompletionStage<LockListing> list(String prefix, int limit, long timeoutMillis) {
        return CompletableFuture.failedStage(
                new LockConfigurationException(info().name() + " keeps locks in a way that cannot be listed"));
    }

    /**
     * Looks at the version and the settings of the store that matter to locks. What cannot be read, for want of a right, is a
     * finding too.
     *
     * @param timeoutMillis how long the engine waits
     * @return what was seen; empty if nothing is known
     */
    default CompletionStage<List<StoreFinding>> examine(long timeoutMillis) {
        return CompletableFuture.completedStage(List.of());
    }

    /** Frees the backend's own resources, and the store's client if it made it. Called once, after everything else. */
    @Override
    void close();
}
