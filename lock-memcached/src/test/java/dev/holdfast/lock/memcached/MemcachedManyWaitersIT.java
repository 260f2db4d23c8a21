package dev.holdfast.lock.memcached;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.ManyWaitersContract;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** Thousands of waiters of several processes on memcached. */
@Tag(House.SLOW)
final class MemcachedManyWaitersIT extends ManyWaitersContract {
    private static MemcachedServer server;

    @BeforeAll
    static void start() throws Exception {
        server = MemcachedServer.start();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Override
    protected String uri() {
        return "memcached://127.0.0.1:" + server.port();
    }
}
