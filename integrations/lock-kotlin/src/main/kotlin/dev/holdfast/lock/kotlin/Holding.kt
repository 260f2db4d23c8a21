package dev.holdfast.lock.kotlin

import dev.holdfast.lock.DistributedLock
import dev.holdfast.lock.Lease
import dev.holdfast.lock.LeaseLostException
import dev.holdfast.lock.LockTimeoutException
import dev.holdfast.lock.LossReason
import dev.holdfast.lock.MultiLease
import dev.holdfast.lock.MultiLock
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionException
import java.util.concurrent.CompletionStage
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.coroutineContext
import kotlin.coroutines.resumeWithException
import kotlin.time.Duration
import kotlin.time.toJavaDuration
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlinx.coroutines.withContext

/** The locks and sets of locks that a coroutine and its parents hold by functions of this package. */
private class HeldLocks(val locks: List<Any>) : AbstractCoroutineContextElement(HeldLocks) {
    companion object Key : CoroutineContext.Key<HeldLocks>
}

/** The block that waits for a lock of its own coroutine would wait for ever. */
internal suspend fun refuseReentry(lock: Any, name: String) {
    check(coroutineContext[HeldLocks]?.locks?.contains(lock) != true) {
        "lock '$name': this coroutine or a parent of it holds the lock already, and a lease does not re-enter; " +
            "pass the lease on, or acquire the lock outside of the block"
    }
}

/** All durations that do not fit wait as long as it takes. */
internal fun Duration.toJava(): java.time.Duration = toJavaDuration()

/** Waits for an acquisition. If the coroutine is cancelled, the acquisition is abandoned; if it was granted meanwhile, it is released. */
internal suspend fun <L : AutoCloseable> acquired(acquire: () -> CompletableFuture<L>): L {
    val future = acquire()
    return suspendCancellableCoroutine { waiting ->
        future.whenComplete { lease, failure ->
            if (lease != null) {
                waiting.resume(lease) { _, unwanted, _ -> releaseInBackground(unwanted) }
            } else {
                waiting.resumeWithException(unwrapped(failure))
            }
        }
        waiting.invokeOnCancellation { future.cancel(false) }
    }
}

/** Returns null if another holder has the lock; only the acquisition is asked, not what runs later. */
internal suspend fun <L : AutoCloseable> acquiredOrNull(acquire: () -> CompletableFuture<L>): L? =
    try {
        acquired(acquire)
    } catch (_: LockTimeoutException) {
        null
    }

private fun unwrapped(failure: Throwable): Throwable =
    if (failure is CompletionException) failure.cause ?: failure else failure

/** A release waits for the store's answer, which must not hold up the thread that cancelled. */
private fun releaseInBackground(lease: AutoCloseable) {
    Dispatchers.IO.dispatch(EmptyCoroutineContext) { runCatching { lease.close() } }
}

/** Runs the block under a lease, and releases it. A loss fails the scope of the block, if that is wanted. */
internal suspend fun <L : Lease, T> holding(
    lock: DistributedLock?,
    lease: L,
    stopOnLoss: Boolean,
    block: suspend (L) -> T,
): T = holding(lock, lease, if (stopOnLoss) lease.lost().thenApply { lostDuringBlock(lease, it) } else null, block)

/** The same for several leases as one. */
internal suspend fun <T> holding(
    locks: MultiLock,
    leases: MultiLease,
    stopOnLoss: Boolean,
    block: suspend (MultiLease) -> T,
): T = holding(locks, leases, if (stopOnLoss) leases.lost().thenApply { lostDuringBlock(leases, it) } else null, block)

private suspend fun <L : AutoCloseable, T> holding(
    lock: Any?,
    lease: L,
    lost: CompletionStage<LeaseLostException>?,
    block: suspend (L) -> T,
): T {
    var failure: Throwable? = null
    try {
        val held = coroutineContext[HeldLocks]?.locks.orEmpty()
        val context = if (lock == null) EmptyCoroutineContext else HeldLocks(held + lock)
        return withContext(context) { if (lost != null) stoppedByLoss(lease, lost, block) else block(lease) }
    } catch (thrown: Throwable) {
        failure = thrown
        throw thrown
    } finally {
        release(lease, failure)
    }
}

private suspend fun <L : AutoCloseable, T> stoppedByLoss(
    lease: L,
    lost: CompletionStage<LeaseLostException>,
    block: suspend (L) -> T,
): T = coroutineScope {
    // A child that fails cancels the block at once, on the thread that reports the loss.
    val loss = CompletableDeferred<Unit>(coroutineContext[Job])
    lost.thenAccept { exception -> loss.completeExceptionally(exception) }
    try {
        block(lease)
    } finally {
        loss.complete(Unit)
    }
}

private fun lostDuringBlock(leases: MultiLease, loss: MultiLease.Loss): LeaseLostException =
    lostDuringBlock(loss.name(), leases.token(loss.name()), loss.reason())

private fun lostDuringBlock(lease: Lease, reason: LossReason): LeaseLostException =
    lostDuringBlock(lease.name(), lease.token(), reason)

private fun lostDuringBlock(name: String, token: Long, reason: LossReason): LeaseLostException =
    LeaseLostException(
        "lock '$name' (token $token): the lease was lost while its block ran ($reason); " +
            "the block was cancelled; check what it has written, or let the resource check the token",
        reason,
        token,
        null,
    )

private suspend fun release(lease: AutoCloseable, failure: Throwable?) {
    try {
        withContext(NonCancellable + Dispatchers.IO) { lease.close() }
    } catch (atClose: Throwable) {
        if (failure == null) {
            throw atClose
        }
        if (failure !is LeaseLostException) {
            failure.addSuppressed(atClose)
        }
    }
}
