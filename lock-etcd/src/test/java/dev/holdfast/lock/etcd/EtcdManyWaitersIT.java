package dev.holdfast.lock.etcd;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.ManyPermitWaitersContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** Thousands of waiters of several processes on etcd. */
@Tag(House.SLOW)
final class EtcdManyWaitersIT extends ManyPermitWaitersContract {
    private static EtcdFixture fixture;

    @BeforeAll
    static void start() throws Exception {
        fixture = EtcdFixture.single();
    }

    @AfterAll
    static void stop() {
        fixture.close();
    }

    @Override
    protected String uri() {
        return fixture.uri();
    }

    /** The server sorts all keys of a queue at each attempt, however few of them it returns. */
    @Override
    protected int[] permitWaiters() {
        return new int[] {250, 500, 1_000};
    }
}
