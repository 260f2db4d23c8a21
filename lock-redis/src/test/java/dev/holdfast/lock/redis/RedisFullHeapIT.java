package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.house.FullHeapContract;
import dev.holdfast.lock.testkit.house.House;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A client of Redis whose heap is full. */
@Tag(House.SLOW)
final class RedisFullHeapIT extends FullHeapContract {
    private static RedisFixture fixture;

    @BeforeAll
    static void start() throws Exception {
        fixture = RedisFixture.fast();
    }

    @AfterAll
    static void stop() {
        fixture.close();
    }

    @Override
    protected String uri() {
        return fixture.uri();
    }
}
