package dev.holdfast.lock.consul;

import dev.holdfast.lock.testkit.house.FullHeapContract;
import dev.holdfast.lock.testkit.house.House;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A client of Consul whose heap is full. */
@Tag(House.SLOW)
final class ConsulFullHeapIT extends FullHeapContract {
    private static ConsulFixture fixture;

    @BeforeAll
    static void start() throws Exception {
        fixture = ConsulFixture.single();
    }

    @AfterAll
    static void stop() {
        fixture.close();
    }

    @Override
    protected String uri() {
        return "consul://127.0.0.1:" + fixture.server().agent().port() + "?session-ttl-min=1s";
    }
}
