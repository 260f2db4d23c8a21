package dev.holdfast.lock.redis;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A failover that Sentinel makes. */
final class RedisSentinelTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration LEASE = Duration.ofMinutes(5);

    @Test
    void failover_keepsTheLockIfItWasReplicated_andNeverLowersAToken() throws Exception {
        try (RedisSentinelFixture fixture = new RedisSentinelFixture(false, Duration.ofSeconds(1));
                LockBackend backend = fixture.newBackend()) {
            Grant grant = grant(backend, "kept");
            Grant released = grant(backend, "free");
            release(backend, released);
            RedisServer replica = fixture.replica();
            await().atMost(PATIENCE)
                    .until(() -> replica.number("EXISTS", "holdfast:{kept}") == 1
                            && String.valueOf(replica.command("GET", "holdfast:{free}"))
                                    .startsWith("0 - "));

            fixture.failOver();

            await().atMost(PATIENCE)
                    .until(() -> answer(backend.renew(List.of(grant), 1_000)).get(0) instanceof RenewResult.Renewed);
            // The former master may still close a connection. An attempt without an answer may have been granted, which
            // the same one finds when it is made again.
            BackendDriver attempt = BackendDriver.of(backend, "free", LEASE.toMillis());
            Grant next = await().atMost(PATIENCE)
                    .ignoreException(LockUnavailableException.class)
                    .until(attempt::acquire, granted -> true);
            assertThat(next.token()).isGreaterThan(released.token());
            assertThat(Attempts.tryAcquire(backend, BackendDriver.newAcquisition("kept"), 0, false, null))
                    .isInstanceOf(AcquireResult.Busy.class);
        }
    }

    private static Grant grant(LockBackend backend, String name) throws Exception {
        return BackendDriver.acquire(backend, name, LEASE.toMillis());
    }
}
