package dev.holdfast.lock.kotlin

import dev.holdfast.lock.DistributedLock
import dev.holdfast.lock.Lease
import dev.holdfast.lock.LeaseLostException
import dev.holdfast.lock.LockClient
import dev.holdfast.lock.LockOptions
import dev.holdfast.lock.LockTimeoutException
import dev.holdfast.lock.LossReason
import dev.holdfast.lock.Renewal
import java.util.concurrent.atomic.AtomicInteger
import kotlin.random.Random
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.BeforeAll
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestInstance

/** What a suspending block may expect of every store. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class LeaseContract {
    private lateinit var client: LockClient
    private lateinit var other: LockClient

    /** Starts the store and returns an address that two clients share. */
    abstract fun start(): String

    abstract fun stop()

    @BeforeAll
    fun connect() {
        val address = start()
        client = LockClient.connect(address)
        other = LockClient.connect(address)
    }

    @AfterAll
    fun disconnect() {
        client.close()
        other.close()
        stop()
    }

    private fun lock(name: String, options: LockOptions = LockOptions.defaults()): DistributedLock = client.lock(name, options)

    @Test
    @DisplayName("The block has the lock, and the lock is free afterwards")
    fun block_holdsTheLock() = runTest {
        val result = lock("block").withLease(10.seconds) { lease ->
            assertThat(lease.isValid).isTrue()
            assertThat(other.lock("block").tryAcquire()).isEmpty()
            lease.token()
        }
        val next = lock("block").withLease(10.seconds) { it.token() }
        assertThat(next).isGreaterThan(result)
        other.lock("block").tryAcquire().orElseThrow().close()
    }

    @Test
    @DisplayName("A block may suspend and continue on another thread")
    fun block_changesThreads() = runTest {
        lock("threads").withLease(10.seconds) { lease ->
            withContext(Dispatchers.Default) { delay(20.milliseconds) }
            withContext(Dispatchers.IO) { assertThat(lease.isValid).isTrue() }
        }
        other.lock("threads").tryAcquire().orElseThrow().close()
    }

    @Test
    @DisplayName("A busy lock is reported by an exception, or by null")
    fun busyLock_isReported() = runTest {
        other.lock("busy").acquire().use {
            assertThat(failure { lock("busy").withLease(100.milliseconds) { "ran" } }).isInstanceOf(LockTimeoutException::class.java)
            assertThat(lock("busy").tryWithLease { "ran" }).isNull()
        }
        assertThat(lock("busy").tryWithLease(10.seconds) { "ran" }).isEqualTo("ran")
    }

    @Test
    @DisplayName("A time-out of another lock inside the block is not taken for a busy lock")
    fun timeoutInTheBlock_isThrown() = runTest {
        other.lock("inner").acquire().use {
            val thrown = failure { lock("outer").tryWithLease { lock("inner").withLease(Duration.ZERO) { "ran" } } }
            assertThat(thrown).isInstanceOf(LockTimeoutException::class.java).hasMessageContaining("inner")
        }
    }

    @Test
    @DisplayName("An exception of the block releases the lock and is thrown")
    fun exceptionOfTheBlock_releases() = runTest {
        assertThat(failure { lock("failing").withLease(10.seconds) { error("on purpose") } }).hasMessage("on purpose")
        other.lock("failing").tryAcquire().orElseThrow().close()
    }

    @Test
    @DisplayName("A waiting coroutine that is cancelled leaves nothing behind")
    fun cancelledWait_leavesNothing() = runTest {
        val held = other.lock("cancelled").acquire()
        val waiter = launch(start = CoroutineStart.UNDISPATCHED) { lock("cancelled").withLease(Duration.INFINITE) { error("ran") } }
        delay(100.milliseconds)
        waiter.cancelAndJoin()
        held.close()
        assertThat(acquireSoon("cancelled")).isNotNull()
    }

    @Test
    @DisplayName("A coroutine that is cancelled at the moment of its grant leaves no lease behind")
    fun cancelledGrant_isReleased() = runTest {
        val seed = Random.nextLong()
        val random = Random(seed)
        repeat(100) { round ->
            val waiter = launch(Dispatchers.Default) { lock("race").withLease(10.seconds) { awaitCancellation() } }
            repeat(random.nextInt(20)) { yield() }
            if (random.nextBoolean()) delay(random.nextInt(3).milliseconds)
            waiter.cancelAndJoin()
            assertThat(acquireSoon("race")).describedAs("free after round %d of seed %d", round, seed).isNotNull()
        }
    }

    @Test
    @DisplayName("A block that is cancelled keeps the lock until it has ended, then releases it")
    fun cancelledBlock_releasesAtItsEnd() = runTest {
        val inside = CompletableDeferred<Unit>()
        val cleaned = CompletableDeferred<Boolean>()
        val work = launch {
            lock("ending").withLease(10.seconds) { lease ->
                inside.complete(Unit)
                try {
                    awaitCancellation()
                } finally {
                    cleaned.complete(lease.isValid && other.lock("ending").tryAcquire().isEmpty)
                }
            }
        }
        inside.await()
        work.cancelAndJoin()
        assertThat(cleaned.await()).describedAs("the block still held the lock while it ended").isTrue()
        other.lock("ending").tryAcquire().orElseThrow().close()
    }

    @Test
    @DisplayName("A lost lease cancels the block, and its children, and is thrown")
    fun lostLease_cancelsTheBlock() = runTest {
        val children = AtomicInteger()
        val thrown = failure {
            lock("lost", SHORT).withLease(10.seconds) {
                coroutineScope {
                    repeat(3) {
                        launch {
                            try {
                                awaitCancellation()
                            } finally {
                                children.incrementAndGet()
                            }
                        }
                    }
                }
            }
        }
        assertThat(thrown).isInstanceOf(LeaseLostException::class.java).hasMessageContaining("lost")
        assertThat((thrown as LeaseLostException).reason()).isEqualTo(LossReason.EXPIRED)
        assertThat(children).hasValue(3)
    }

    @Test
    @DisplayName("With stopOnLoss = false the block goes on, and the loss is thrown at its end")
    fun lostLease_isThrownAtTheEnd() = runTest {
        var ended = false
        val thrown = failure {
            lock("kept", SHORT).withLease(10.seconds, stopOnLoss = false) { lease ->
                while (lease.isValid) delay(20.milliseconds)
                delay(100.milliseconds)
                ended = true
            }
        }
        assertThat(ended).isTrue()
        assertThat(thrown).isInstanceOf(LeaseLostException::class.java)
    }

    @Test
    @DisplayName("The same coroutine, and its children, may not ask for the lock again")
    fun reentry_isRefused() = runTest {
        val lock = lock("again")
        lock.withLease(10.seconds) {
            assertThat(failure { lock.withLease(10.seconds) { "ran" } })
                .isInstanceOf(IllegalStateException::class.java)
                .hasMessageContaining("again")
                .hasMessageContaining("does not re-enter")
            coroutineScope {
                launch { assertThat(failure { lock.tryWithLease { "ran" } }).isInstanceOf(IllegalStateException::class.java) }
            }
            lock("something else").withLease(10.seconds) {
                assertThat(failure { lock.withLease(10.seconds) { "ran" } }).isInstanceOf(IllegalStateException::class.java)
            }
        }
        lock.withLease(10.seconds) { }
    }

    @Test
    @DisplayName("Several locks are held for the time of the block, and none is left after a busy one or a cancellation")
    fun severalLocks_areHeldAsOne() = runTest {
        val both = client.lockAll("several/a", "several/b")
        both.withLease(10.seconds) { leases ->
            assertThat(leases.token("several/a")).isPositive()
            assertThat(other.lock("several/b").tryAcquire()).isEmpty()
            assertThat(failure { both.withLease(10.seconds) { } })
                .isInstanceOf(IllegalStateException::class.java)
                .hasMessageContaining("several/a, several/b")
        }
        val held = other.lock("several/b").acquire()
        assertThat(both.tryWithLease { "ran" }).isNull()
        assertThat(failure { both.withLease(50.milliseconds) { } }).isInstanceOf(LockTimeoutException::class.java)
        val waiting = launch { both.withLease(Duration.INFINITE) { } }
        while (other.lock("several/a").tryAcquire().map { it.close() }.isPresent) delay(10.milliseconds)
        waiting.cancelAndJoin()
        checkNotNull(acquireSoon("several/a")) { "left behind by the cancelled wait" }
        held.close()
        checkNotNull(acquireSoon("several/b")) { "left behind by the cancelled wait" }
        assertThat(both.tryWithLease { "ran" }).isEqualTo("ran")
    }

    @Test
    @DisplayName("The loss of one of several leases cancels the block")
    fun oneOfSeveralIsLost_cancelsTheBlock() = runTest {
        val thrown = failure { client.lockAll(listOf("all/a", "all/b"), SHORT).withLease(10.seconds) { awaitCancellation() } }
        assertThat(thrown).isInstanceOf(LeaseLostException::class.java).hasMessageContaining("lock 'all/")
    }

    @Test
    @DisplayName("Hundreds of coroutines on one thread wait without blocking it, one after the other")
    fun waiters_blockNoThread() {
        val inside = AtomicInteger()
        val served = AtomicInteger()
        runBlocking { // One thread: a wait that blocked it would never end.
            withTimeout(60.seconds) {
                List(300) {
                    launch {
                        lock("crowd").withLease(Duration.INFINITE) {
                            assertThat(inside.incrementAndGet()).isEqualTo(1)
                            yield()
                            inside.decrementAndGet()
                            served.incrementAndGet()
                        }
                    }
                }.joinAll()
            }
        }
        assertThat(served).hasValue(300)
    }

    @Test
    @DisplayName("Readers share the lock, and a writer waits for them")
    fun readers_share() = runTest {
        val lock = client.readWriteLock("book")
        lock.readLock().withLease(10.seconds) {
            other.readWriteLock("book").readLock().tryAcquire().orElseThrow().close()
            assertThat(lock.writeLock().tryWithLease { "ran" }).isNull()
        }
        lock.writeLock().withLease(10.seconds) { }
    }

    @Test
    @DisplayName("Permits are taken and returned; too few are reported")
    fun permits_areTaken() = runTest {
        val semaphore = client.semaphore("pool", 2)
        semaphore.withPermits(10.seconds) { first ->
            semaphore.withPermits(10.seconds) { second ->
                assertThat(setOf(first.slot(), second.slot())).containsExactlyInAnyOrder(1, 2)
                assertThat(semaphore.tryWithPermits { "ran" }).isNull()
                assertThat(failure { semaphore.withPermits(100.milliseconds) { } }).isInstanceOf(LockTimeoutException::class.java)
            }
        }
        semaphore.withPermits(10.seconds, permits = 2) { assertThat(it.permits()).isEqualTo(2) }
    }

    /** A lease that is given back without a thread that waits for it: the release is on its way when the coroutine has ended. */
    private suspend fun acquireSoon(name: String): Lease? =
        withContext(Dispatchers.IO) { other.lock(name).tryAcquire(java.time.Duration.ofSeconds(5)).orElse(null)?.also { it.close() } }

    private fun runTest(test: suspend kotlinx.coroutines.CoroutineScope.() -> Unit): Unit = runBlocking { withTimeout(60.seconds) { test() } }

    private suspend fun failure(block: suspend () -> Any?): Throwable? =
        try {
            block()
            null
        } catch (thrown: Exception) {
            thrown
        }

    private companion object {
        /** Ends by itself after a second, since nothing renews it. */
        val SHORT: LockOptions = LockOptions.builder().lease(java.time.Duration.ofSeconds(1)).renewal(Renewal.NONE).build()
    }
}
