package dev.holdfast.lock.kotlin

class MemoryLeaseTest : LeaseContract() {
    override fun start(): String = "memory:kotlin"

    override fun stop() = Unit
}
