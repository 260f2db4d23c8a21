package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.testkit.house.FullHeapContract;
import dev.holdfast.lock.testkit.house.House;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A client of ZooKeeper whose heap is full. */
@Tag(House.SLOW)
final class ZooKeeperFullHeapIT extends FullHeapContract {
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
