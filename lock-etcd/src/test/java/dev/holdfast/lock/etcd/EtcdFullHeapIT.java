package dev.holdfast.lock.etcd;

import dev.holdfast.lock.testkit.house.FullHeapContract;
import dev.holdfast.lock.testkit.house.House;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A client of etcd whose heap is full. */
@Tag(House.SLOW)
final class EtcdFullHeapIT extends FullHeapContract {
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
}
