/** Permits for the time of a suspending block. */
@file:JvmName("Semaphores")

package dev.holdfast.lock.kotlin

import dev.holdfast.lock.DistributedSemaphore
import dev.holdfast.lock.LockTimeoutException
import dev.holdfast.lock.Permit
import kotlin.time.Duration

/**
 * Acquires permits, runs [block] with them, and returns them. Cancellation and loss are as for [withLease]. A coroutine may ask
 * for more permits of a semaphore of which it has some; it waits for itself if the limit does not suffice.
 *
 * @param timeout the longest time to wait; zero asks the store once, [Duration.INFINITE] waits as long as it takes
 * @param permits how many, from 1 to the limit
 * @param stopOnLoss whether the block is cancelled when the permits are lost
 * @param block what needs the permits; its parameter has their slot and fencing token
 * @return what the block returns
 * @throws LockTimeoutException if not enough permits were free in that time
 * @throws dev.holdfast.lock.LeaseLostException if the permits were lost before the block ended
 * @throws dev.holdfast.lock.LockUnavailableException if the store could not be reached in that time
 * @throws dev.holdfast.lock.LockConfigurationException if the store refuses the request permanently
 * @throws dev.holdfast.lock.LockClosedException if the client is or becomes closed
 * @throws IllegalArgumentException if the timeout is negative, or the number of permits is not from 1 to the limit
 */
public suspend fun <T> DistributedSemaphore.withPermits(
    timeout: Duration,
    permits: Int = 1,
    stopOnLoss: Boolean = true,
    block: suspend (Permit) -> T,
): T = holding(null, acquired { acquireAsync(permits, timeout.toJava()) }, stopOnLoss, block)

/**
 * Does what [withPermits] does, but returns null if not enough permits are free.
 *
 * @param timeout the longest time to wait; zero asks the store once
 * @param permits how many, from 1 to the limit
 * @param stopOnLoss whether the block is cancelled when the permits are lost
 * @param block what needs the permits
 * @return what the block returns, or null if it did not run because not enough permits were free
 * @throws dev.holdfast.lock.LeaseLostException if the permits were lost before the block ended
 * @throws dev.holdfast.lock.LockUnavailableException if the store could not be reached in that time
 * @throws dev.holdfast.lock.LockConfigurationException if the store refuses the request permanently
 * @throws dev.holdfast.lock.LockClosedException if the client is or becomes closed
 * @throws IllegalArgumentException if the timeout is negative, or the number of permits is not from 1 to the limit
 */
public suspend fun <T : Any> DistributedSemaphore.tryWithPermits(
    timeout: Duration = Duration.ZERO,
    permits: Int = 1,
    stopOnLoss: Boolean = true,
    block: suspend (Permit) -> T,
): T? {
    val permit = acquiredOrNull { acquireAsync(permits, timeout.toJava()) } ?: return null
    return holding(null, permit, stopOnLoss, block)
}
