package dev.holdfast.lock.spi;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A lock store, as the engine uses it.
 *
 * <p><b>Outcomes.</b> A stage that completes normally carries the server's answer. If it fails with {@link
 * dev.holdfast.lock.LockUnavailableException}, the outcome is unknown and a retry may help. {@link
 * dev.holdfast.lock.LockConfigurationException} means that the store refused the request and the user has to correct
 * something. If the refused request may have left an entry for longer than a lease, the engine removes it by one {@link
 * #abandon}. Any other exception is final for the caller too; its outcome on the server is unknown, and the engine cleans up
 * by {@link #abandon}. {@link FailureTranslator} creates these exceptions from those of a store's client.
 *
 * <p><b>Messages</b> contain what was observed and what to do, and no secrets. They do not name the lock: the engine prepends
 * its name.
 *
 * <p><b>Threads.</b> Thread-safe. If {@link BackendInfo#blocking()}, each method does its work on the calling thread and
 * returns a completed stage within the time-out. If a call does not return in time, the engine continues to serve other
 * requests, but the calling thread stays blocked, and the engine has only a few threads for such calls; so a renewal that waits
 * for several connections may return at once. Without {@code blocking}, each method returns immediately. Stages complete and callbacks run on threads that allow short, non-blocking
 * code, including calls of this interface; if a client library forbids that on its threads, the backend switches to another
 * thread first. The engine limits the wait for a stage that never completes, and handles one that completes late.
 *
 * <p><b>Demands.</b> A backend that supports only {@link dev.holdfast.lock.Demand.Exclusive} may ignore {@link
 * AcquireRequest#demand()}. A backend with more demands ({@link BackendInfo#demands}) keeps one queue per name. It grants a
 * request that is compatible with all grants and with all requests ahead of it in that queue: an exclusive demand is
 * compatible with no other, shared demands with each other, and permits with other permits while their sum is within the
 * limit. Renewal, release and abandonment are by owner for all demands.
 *
 * <p><b>Time-outs.</b> {@code timeoutMillis} is how long the engine waits, in milliseconds for that call, however many
 * requests the backend sends for it; positive.
 */
public interface LockBackend extends AutoCloseable {
    /** How many times the time-out of a request a listing may take in all: see {@link #list}. */
    int MAX_LISTING_TIMEOUTS = 20;

    /**
     * Describes this backend.
     *
     * @return constant facts
     */
    BackendInfo info();

    /**
     * Sets the listener for grants that end or become uncertain between two renewals. Called once, before any request. A
     * backend that detects nothing between renewals ignores it.
     *
     * @param listener the engine's listener; its methods are cheap, do not block and may be called from any thread
     */
    default void setGrantListener(GrantListener listener) {}

    /**
     * Tries to acquire a lock for an acquisition.
     *
     * <p>Idempotent by {@link AcquisitionId#owner()}: if an earlier attempt of the same acquisition was granted but its reply
     * was lost, this attempt returns {@link AcquireResult.Granted} with the same token and a fresh lease. Where several
     * servers decide, the token may differ, since different servers may answer first this time. It is still greater than that
     * of every earlier grant.
     *
     * <p>With {@link AcquireRequest#waitMillis()} of zero, {@link AcquireResult.Busy} leaves nothing on the server. A backend
     * that cannot guarantee this returns a ticket, and the engine abandons the acquisition. With a positive wait, Busy may
     * leave an entry in the store's queue. Its ticket identifies the entry, which is kept until it is granted or {@link
     * #abandon}ed.
     *
     * <p>An attempt that consists of several requests may be abandoned between two of them: if its entry is gone, the attempt
     * returns {@link AcquireResult.Busy} and does not take the lock again.
     *
     * @param request the request
     * @return granted or busy
     */
    CompletionStage<AcquireResult> tryAcquire(AcquireRequest request);

    /**
     * Calls back when the lock may have become free for the ticket's acquisition. Calls may be too frequent, late or, after a
     * failure of the server, missing: the engine polls in any case. If the lock became free between the attempt that returned
     * the ticket and this call, the backend calls back too. The engine subscribes once to a ticket: while attempts return an
     * equal ticket, even if its position in the queue has changed, the backend uses the same callback.
     *
     * @param ticket from {@link AcquireResult.Busy}
     * @param onMaybeFree the callback; cheap and non-blocking; starts the next attempt on the calling thread
     * @return the subscription, which the engine closes when it needs no more calls
     */
    default Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        return Subscription.NONE;
    }

    /**
     * Removes everything that an acquisition has on the server: an entry in the queue, a grant, or nothing. Once the stage
     * has completed normally, no earlier attempt of that acquisition leaves anything on the server for longer than its lease,
     * not even an attempt that arrives later.
     *
     * @param acquisition the acquisition to end; the engine never attempts it again
     * @param timeoutMillis how long the engine waits, in milliseconds
     * @return a stage that completes when the server has confirmed the removal
     */
    CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis);

    /**
     * Renews grants to their full lease from now on, in one round trip if the store supports it.
     *
     * @param grants the grants that are due; not empty
     * @param timeoutMillis how long the engine waits, in milliseconds
     * @return one result per grant, in the same order; a failed stage means {@link RenewResult.Unknown} for all grants
     */
    CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis);

    /**
     * Releases a grant if it is still held by its owner. Idempotent.
     *
     * @param grant the grant
     * @param timeoutMillis how long the engine waits, in milliseconds
     * @return whether it was still held
     */
    CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis);

    /**
     * Returns the holder of a lock.
     *
     * @param name the lock's name
     * @param timeoutMillis how long the engine waits, in milliseconds
     * @return the holder, its token as in {@link Grant#token()}; the first one if there are several; empty if the lock is
     *     free
     */
    CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis);

    /**
     * Returns all holders of a lock. A backend with other demands than exclusive ones implements this method, and {@link
     * #holder} by it.
     *
     * @param name the lock's name
     * @param timeoutMillis how long the engine waits, in milliseconds
     * @return the holders, the lowest token first, each with its demand and, if it has permits, its slot
     */
    default CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        return holder(name, timeoutMillis).thenApply(holder -> holder.stream().toList());
    }

    /**
     * Changes the limit of a name's permits if the stored limit is the expected one or already, after an earlier call, the
     * new one. Grants are kept. Attempts with another limit than the stored one, including those of waiters, return {@link
     * AcquireResult.OtherLimit}. Signals the waiters, since permits may have become available. Only called if {@link
     * BackendInfo#demands} contains permits.
     *
     * @param name the semaphore's name
     * @param from the expected limit; if none is stored, this one counts as stored
     * @param to the new limit, positive
     * @param timeoutMillis how long the engine waits, in milliseconds
     * @return the limit that is stored now: {@code to}, or a different one that was left unchanged
     */
    default CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
        return CompletableFuture.failedStage(new LockConfigurationException(info().name() + " has no permits"));
    }

    /**
     * Lists one page of the locks that are held or waited for. A backend reads no more than it needs for the page. It bounds
     * each of its requests by the time-out, and the whole by {@value #MAX_LISTING_TIMEOUTS} times the time-out: a store that
     * has to look at each of its keys lists what it has found by then. Only called if {@link BackendInfo#listing()}.
     *
     * @param prefix the prefix of the names; empty for all
     * @param limit the maximum number of locks, positive
     * @param timeoutMillis the time limit of one request, in milliseconds
     * @return the locks by name, tokens as in {@link Grant#token()}
     */
    default CompletionStage<LockListing> list(String prefix, int limit, long timeoutMillis) {
        return CompletableFuture.failedStage(
                new LockConfigurationException(info().name() + " keeps locks in a way that cannot be listed"));
    }

    /**
     * Checks the version and the settings of the store that affect locks. A setting that cannot be read because a privilege
     * is missing is a finding too.
     *
     * @param timeoutMillis how long the engine waits, in milliseconds
     * @return the findings; empty if the backend has no checks
     */
    default CompletionStage<List<StoreFinding>> examine(long timeoutMillis) {
        return CompletableFuture.completedStage(List.of());
    }

    /** Frees the backend's own resources, and the store's client if the backend created it. Called once, as the last method. */
    @Override
    void close();
}
