package dev.holdfast.lock.kotlin

import dev.holdfast.lock.LockClient
import java.nio.file.Files
import java.nio.file.Path
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.Test

/** docs/kotlin.md: its blocks stand here, line by line, and run. */
class PageTest {
    private val client = LockClient.connect("memory:page")
    private val orders = Orders()

    class Orders {
        suspend fun update(id: Long, token: Long): Long {
            delay(1)
            return id + token
        }
    }

    annotation class Service

    @Service
    class Shipping(private val locks: LockClient) {
        suspend fun ship(id: Long) = locks.lock("orders/$id").withLease(30.seconds) { lease -> /* … */ }
    }

    @Test
    fun blocks_run() = runBlocking<Unit> {
        client.use {
            val lock = client.lock("orders/42")

            val total = lock.withLease(30.seconds) { lease ->
                orders.update(42, lease.token())   // may suspend, and continue on any thread
            }

            val ran = lock.tryWithLease { "ran" }  // null if another holder has the lock

            assertThat(total).isGreaterThan(42)
            assertThat(ran).isEqualTo("ran")
            val busy = client.lock("orders/43").withLease(30.seconds) {
                LockClient.connect("memory:page").use { other -> other.lock("orders/43").tryWithLease { "ran" } }
            }
            assertThat(busy).isNull()
            Shipping(client).ship(42)
        }
    }

    @Test
    fun blocks_areThoseOfThePage() {
        val here = lines(Files.readString(Path.of("src/test/kotlin/dev/holdfast/lock/kotlin/PageTest.kt")))
        val blocks = Regex("(?s)```kotlin\\R(.*?)```").findAll(Files.readString(Path.of("../../docs/kotlin.md"))).toList()
        assertThat(blocks).hasSize(2)
        for (block in blocks) {
            assertThat(here).containsSequence(lines(block.groupValues[1]))
        }
    }

    private fun lines(text: String) = text.lines().map { it.trim() }.filter { it.isNotEmpty() }
}
