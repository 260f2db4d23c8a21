package dev.holdfast.lock.consul.internal.acquisition;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.consul.ConsulFixture;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What an agent without a disk loses, such as {@code consul agent -dev}; see docs/consul.md. */
@House("restores:emptied")
final class ConsulForgettingTest {

    @Test
    void restartWithoutData_losesLocksAndTokens() throws Exception {
        try (ConsulFixture fixture = ConsulFixture.single();
                ConsulLockBackend backend = fixture.newBackend(fixture.proxies())) {
            for (int i = 0; i < 50; i++) { // so that the index is well above that of a new server
                BackendDriver.release(backend, BackendDriver.acquire(backend, "warm"));
            }
            Grant held = BackendDriver.acquire(backend, "forgotten");

            fixture.server().restartEmpty();

            RenewResult renewal = await().atMost(Duration.ofMinutes(1))
                    .until(() -> renew(backend, held), result -> !(result instanceof RenewResult.Unknown));
            assertThat(renewal).as("the renewal of the holder").isInstanceOf(RenewResult.Lost.class);
            Grant next = await().atMost(Duration.ofMinutes(1))
                    .ignoreExceptionsInstanceOf(LockUnavailableException.class)
                    .until(() -> BackendDriver.acquire(backend, "forgotten"), grant -> true);
            assertThat(next.token()).as("a token after the index started again").isLessThan(held.token());
        }
    }
}
