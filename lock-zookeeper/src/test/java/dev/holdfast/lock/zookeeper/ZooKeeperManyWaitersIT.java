package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.ManyPermitWaitersContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** Thousands of waiters of several processes on ZooKeeper. */
@Tag(House.SLOW)
final class ZooKeeperManyWaitersIT extends ManyPermitWaitersContract {
    private static ZooKeeperFixture fixture;

    @BeforeAll
    static void start() throws Exception {
        fixture = ZooKeeperFixture.single();
    }

    @AfterAll
    static void stop() {
        fixture.close();
    }

    @Override
    protected String uri() {
        return fixture.uri();
    }

    /** A waiter lists the whole queue when its turn may have come. */
    @Override
    protected int[] permitWaiters() {
        return new int[] {500, 1_000, 2_000};
    }
}
