package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.ManyPermitWaitersContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** Thousands of waiters of several processes on Redis. */
@Tag(House.SLOW)
final class RedisManyWaitersIT extends ManyPermitWaitersContract {
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

    /** Each of them asks once a second: with 10,000 that is the most that two cores carry out. */
    @Override
    protected int[] permitWaiters() {
        return new int[] {1_000, 2_000, 4_000};
    }
}
