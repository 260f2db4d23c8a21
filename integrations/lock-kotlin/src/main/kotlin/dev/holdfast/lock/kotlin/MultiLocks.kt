/** Several leases for the time of a suspending block. */
@file:JvmName("MultiLocks")

package dev.holdfast.lock.kotlin

import dev.holdfast.lock.LockTimeoutException
import dev.holdfast.lock.MultiLease
import dev.holdfast.lock.MultiLock
import kotlin.time.Duration

/**
 * Acquires all locks, runs [block] with their leases as one, and releases them. Cancellation and loss are as for the `withLease` of a
 * single lock; the loss of one lease is that of all. What was acquired before a cancellation or a failure is released.
 *
 * The block must not ask for one of these locks again, which would wait for itself. The same [MultiLock] is refused at once.
 *
 * @param timeout the longest time to wait for all locks together; zero sends one request for each, [Duration.INFINITE] waits as long
 *     as it takes
 * @param stopOnLoss whether the block is cancelled when a lease is lost
 * @param block what needs the locks; its parameter has their fencing tokens
 * @return what the block returns
 * @throws LockTimeoutException if another holder had one of the locks at the end of that time
 * @throws dev.holdfast.lock.LeaseLostException if a lease was lost before the block ended
 * @throws dev.holdfast.lock.LockUnavailableException if the store could not be reached in that time
 * @throws dev.holdfast.lock.LockConfigurationException if the store refuses the request permanently
 * @throws dev.holdfast.lock.LockClosedException if the client is or becomes closed
 * @throws IllegalStateException if this coroutine or a parent holds these locks already
 * @throws IllegalArgumentException if the timeout is negative
 */
public suspend fun <T> MultiLock.withLease(
    timeout: Duration,
    stopOnLoss: Boolean = true,
    block: suspend (MultiLease) -> T,
): T {
    refuseReentry(this, names().joinToString())
    return holding(this, acquired { acquireAsync(timeout.toJava()) }, stopOnLoss, block)
}

/**
 * Does what [withLease] does, but returns null if another holder has one of the locks.
 *
 * @param timeout the longest time to wait for all locks together; zero sends one request for each
 * @param stopOnLoss whether the block is cancelled when a lease is lost
 * @param block what needs the locks
 * @return what the block returns, or null if it did not run because a lock was busy
 * @throws dev.holdfast.lock.LeaseLostException if a lease was lost before the block ended
 * @throws dev.holdfast.lock.LockUnavailableException if the store could not be reached in that time
 * @throws dev.holdfast.lock.LockConfigurationException if the store refuses the request permanently
 * @throws dev.holdfast.lock.LockClosedException if the client is or becomes closed
 * @throws IllegalStateException if this coroutine or a parent holds these locks already
 * @throws IllegalArgumentException if the timeout is negative
 */
public suspend fun <T : Any> MultiLock.tryWithLease(
    timeout: Duration = Duration.ZERO,
    stopOnLoss: Boolean = true,
    block: suspend (MultiLease) -> T,
): T? {
    refuseReentry(this, names().joinToString())
    val leases = acquiredOrNull { acquireAsync(timeout.toJava()) } ?: return null
    return holding(this, leases, stopOnLoss, block)
}
