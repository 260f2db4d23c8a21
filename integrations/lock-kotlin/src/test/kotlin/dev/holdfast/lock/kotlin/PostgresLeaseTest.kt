package dev.holdfast.lock.kotlin

import dev.holdfast.lock.testkit.server.PostgresServer

class PostgresLeaseTest : LeaseContract() {
    private val server: PostgresServer by lazy { PostgresServer.start() }

    override fun start(): String {
        val url = server.url()
        return url + (if (url.contains("?")) "&" else "?") +
            "user=${PostgresServer.USER}&password=${PostgresServer.PASSWORD}&holdfast.createTable=true"
    }

    override fun stop() = server.close()
}
