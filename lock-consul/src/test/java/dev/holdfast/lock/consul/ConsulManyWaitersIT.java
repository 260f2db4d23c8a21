package dev.holdfast.lock.consul;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.ManyWaitersContract;
import dev.holdfast.lock.testkit.server.ConsulServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** Thousands of waiters of several processes on Consul. */
@Tag(House.SLOW)
final class ConsulManyWaitersIT extends ManyWaitersContract {
    private static ConsulServer server;

    @BeforeAll
    static void start() throws Exception {
        server = ConsulServer.start();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Override
    protected String uri() {
        return "consul://127.0.0.1:" + server.agent().port() + "?lock-delay=0s";
    }
}
