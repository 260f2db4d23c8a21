package dev.holdfast.lock.kotlin

import dev.holdfast.lock.testkit.server.RedisServer

class RedisLeaseTest : LeaseContract() {
    private val server: RedisServer by lazy { RedisServer.start() }

    override fun start(): String = "redis://${server.host()}:${server.port()}"

    override fun stop() = server.close()
}
