package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.house.PausedProcessContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** A paused client of Redis. */
final class RedisPausedProcessIT extends PausedProcessContract {
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
