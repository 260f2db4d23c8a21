package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.PausedProcessContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A paused client of ZooKeeper. */
@Tag(House.SLOW)
final class ZooKeeperPausedProcessIT extends PausedProcessContract {
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
}
