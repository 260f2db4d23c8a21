package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.house.FullLogDiskContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** A client of Redis whose log is on a full disk. */
final class RedisFullLogDiskIT extends FullLogDiskContract {
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
