package dev.holdfast.lock.etcd;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.PausedProcessContract;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A paused client of etcd. */
@Tag(House.SLOW)
final class EtcdPausedProcessIT extends PausedProcessContract {
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

    @Override
    protected Duration lease() {
        return Duration.ofSeconds(2);
    }
}
