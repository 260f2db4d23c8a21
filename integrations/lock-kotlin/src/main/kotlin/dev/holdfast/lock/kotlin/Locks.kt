/** Leases for the time of a suspending block. */
@file:JvmName("Locks")

package dev.holdfast.lock.kotlin

import dev.holdfast.lock.DistributedLock
import dev.holdfast.lock.Lease
import dev.holdfast.lock.LockTimeoutException
import kotlin.time.Duration

/**
 * Acquires the lock, runs [block] with the lease, and releases it. No thread is blocked while the coroutine waits.
 *
 * The lease belongs to the block and not to a thread: the block may suspend and continue on any thread. It does not re-enter:
 * a coroutine that holds the lock by this function, and its children, get an [IllegalStateException] instead of waiting for
 * themselves.
 *
 * If the coroutine is cancelled while it waits, the acquisition is abandoned and nothing is left on the server. If it is
 * cancelled in the block, the lease is released when the block has ended.
 *
 * If the lease is lost, the block is cancelled and this function throws [dev.holdfast.lock.LeaseLostException]. Cancellation is
 * cooperative: a block that never suspends is not stopped. With [stopOnLoss] false the block goes on, and the exception
 * comes at its end, as it does from [Lease.close].
 *
 * For a read-write lock, use its `readLock()` or `writeLock()`.
 *
 * @param timeout the longest time to wait; zero asks the store once, [Duration.INFINITE] waits as long as it takes
 * @param stopOnLoss whether the block is cancelled when the lease is lost
 * @param block what needs the lock; its parameter has the fencing token
 * @return what the block returns
 * @throws LockTimeoutException if another holder had the lock all the time
 * @throws dev.holdfast.lock.LeaseLostException if the lease was lost before the block ended
 * @throws dev.holdfast.lock.LockUnavailableException if the store could not be reached in that time
 * @throws dev.holdfast.lock.LockConfigurationException if the store refuses the request permanently
 * @throws dev.holdfast.lock.LockClosedException if the client is or becomes closed
 * @throws IllegalStateException if this coroutine or a parent holds the lock already
 * @throws IllegalArgumentException if the timeout is negative
 */
public suspend fun <T> DistributedLock.withLease(
    timeout: Duration,
    stopOnLoss: Boolean = true,
    block: suspend (Lease) -> T,
): T {
    refuseReentry(this, name())
    return holding(this, acquired { acquireAsync(timeout.toJava()) }, stopOnLoss, block)
}

/**
 * Does what [withLease] does, but returns null if another holder has the lock.
 *
 * @param timeout the longest time to wait; zero asks the store once
 * @param stopOnLoss whether the block is cancelled when the lease is lost
 * @param block what needs the lock
 * @return what the block returns, or null if it did not run because the lock was busy
 * @throws dev.holdfast.lock.LeaseLostException if the lease was lost before the block ended
 * @throws dev.holdfast.lock.LockUnavailableException if the store could not be reached in that time
 * @throws dev.holdfast.lock.LockConfigurationException if the store refuses the request permanently
 * @throws dev.holdfast.lock.LockClosedException if the client is or becomes closed
 * @throws IllegalStateException if this coroutine or a parent holds the lock already
 * @throws IllegalArgumentException if the timeout is negative
 */
public suspend fun <T : Any> DistributedLock.tryWithLease(
    timeout: Duration = Duration.ZERO,
    stopOnLoss: Boolean = true,
    block: suspend (Lease) -> T,
): T? {
    refuseReentry(this, name())
    val lease = acquiredOrNull { acquireAsync(timeout.toJava()) } ?: return null
    return holding(this, lease, stopOnLoss, block)
}
