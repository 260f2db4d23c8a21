package dev.holdfast.lock.testkit.contract.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.server.process.ServerClock;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * What happens where the server's wall clock decides when a lease ends, and is set. Set forward, it ends leases early, in which time
 * two clients may count as holders: tokens distinguish them, and the first one learns of it by its next renewal. Set back, nothing is lost.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class ServerClockContract {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private ServerClock clock;
    private Running server;

    /**
     * A server with the clock.
     *
     * @param address for {@link LockClient#connect}
     * @param stops ends it
     */
    public record Running(String address, AutoCloseable stops) {}

    /** For subclasses. */
    protected ServerClockContract() {}

    /**
     * Starts the store. Called once for the class; the contract closes it.
     *
     * @param clock which the server has to see
     * @return a running server
     * @throws Exception if it cannot be started, which fails the class
     */
    protected abstract Running start(ServerClock clock) throws Exception;

    @BeforeAll
    final void startServer() throws Exception {
        clock = ServerClock.start();
        server = start(clock);
    }

    @AfterAll
    final void stopServer() throws Exception {
        server.stops().close();
        clock.close();
    }

    @BeforeEach
    final void setRight() {
        clock.set(Duration.ZERO);
    }

    private LockClient newClient(Duration lease) {
        LockClientOptions options = LockClientOptions.builder()
                .lockOptions(LockOptions.builder().lease(lease).build())
                .build();
        return Waits.eventually(() -> LockClient.connect(server.address(), options));
    }

    @Test
    final void clockIsSetForward_leasesEndEarly_tokensRise_andTheHolderHearsOfIt() throws Exception {
        try (LockClient a = newClient(Duration.ofSeconds(30));
                LockClient b = newClient(Duration.ofSeconds(30))) {
            Lease first = a.lock("forward").acquire(PATIENCE);
            assertThat(b.lock("forward").tryAcquire()).as("while it is held").isEmpty();
            clock.set(Duration.ofHours(1));
            Lease second = b.lock("forward").acquire(PATIENCE);
            assertThat(second.token()).isGreaterThan(first.token());
            first.lost().toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertThat(first.isValid()).isFalse();
            assertThatThrownBy(first::close).isInstanceOf(LeaseLostException.class);
            assertThat(second.isValid()).isTrue();
            assertThat(a.lock("forward").tryAcquire())
                    .as("the first one's end takes nothing from the second")
                    .isEmpty();
            second.close();
        }
    }

    @Test
    final void clockIsSetBack_theHolderKeepsTheLock_andTokensRise() throws Exception {
        Duration lease = Duration.ofSeconds(3);
        try (LockClient a = newClient(lease);
                LockClient b = newClient(lease)) {
            Lease before = b.lock("back").acquire(PATIENCE);
            before.close();
            Lease held = a.lock("back").acquire(PATIENCE);
            clock.set(Duration.ofMinutes(-1));
            await().during(lease.multipliedBy(2))
                    .atMost(PATIENCE)
                    .until(() -> held.isValid() && b.lock("back").tryAcquire().isEmpty());
            held.close();
            Lease next = b.lock("back").acquire(PATIENCE);
            assertThat(next.token()).isGreaterThan(held.token());
            assertThat(held.token()).isGreaterThan(before.token());
            next.close();
            clock.set(Duration.ZERO);
            try (Lease last = a.lock("back").acquire(PATIENCE)) {
                assertThat(last.token()).isGreaterThan(next.token());
            }
        }
    }
}
