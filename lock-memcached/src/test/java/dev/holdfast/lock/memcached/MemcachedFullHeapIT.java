package dev.holdfast.lock.memcached;

import dev.holdfast.lock.testkit.house.FullHeapContract;
import dev.holdfast.lock.testkit.house.House;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A client of Memcached whose heap is full. */
@Tag(House.SLOW)
final class MemcachedFullHeapIT extends FullHeapContract {
    private static MemcachedFixture fixture;

    @BeforeAll
    static void start() throws Exception {
        fixture = MemcachedFixture.start();
    }

    @AfterAll
    static void stop() {
        fixture.close();
    }

    @Override
    protected String uri() {
        return "memcached://" + fixture.server().host() + ":" + fixture.server().port();
    }
}
