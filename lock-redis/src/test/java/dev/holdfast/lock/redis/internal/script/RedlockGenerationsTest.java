package dev.holdfast.lock.redis.internal.script;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.redis.RedlockFixture;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.LateBytes;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;

/** Attempts of one acquisition, one after the other, and what they take back. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedlockGenerationsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private RedlockFixture fixture;
    private LockBackend a;
    private LockBackend b;
    private RedisKeys keys;
    private AcquisitionId mine;

    @BeforeAll
    void start() throws Exception {
        fixture = new RedlockFixture();
        try (LockBackend first = fixture.newBackend()) {
            // From now on the servers have the scripts.
            release(first, Attempts.grant(first, acquisition("warm")));
        }
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    @BeforeEach
    void connect(TestInfo test) {
        a = fixture.newBackend();
        b = fixture.newBackend();
        keys = RedisKeys.of("holdfast", test.getDisplayName());
        mine = acquisition(test.getDisplayName());
    }

    @AfterEach
    void disconnect() {
        fixture.heal();
        a.close();
        b.close();
    }

    /** A minority's grants are taken back, over a link that is replaced before that arrives. */
    @Test
    void takeBackThatComesLate_leavesTheNextAttemptsGrant() throws Exception {
        occupy(0, 1, 2);
        fixture.proxies().get(0).hold(Direction.TO_CLIENT);
        CompletableFuture<AcquireResult> first = tryAcquire(60_000, BackendDriver.TIMEOUT_MILLIS);
        awaitHeld(3, 4);
        List<LateBytes> late = new ArrayList<>();
        List<Long> commands = new ArrayList<>();
        for (int i : new int[] {3, 4}) {
            late.add(fixture.proxies().get(i).keepBack(Direction.TO_SERVER));
            commands.add(server(i).lockCommands());
        }
        fixture.proxies().get(0).pass();
        for (LateBytes bytes : late) {
            assertThat(bytes.awaitSome(PATIENCE)).isTrue();
            bytes.dropClients();
        }
        assertThat(answer(first)).isInstanceOf(AcquireResult.Busy.class);

        free(2);
        await().atMost(PATIENCE)
                .until(() -> answer(tryAcquire(60_000, BackendDriver.TIMEOUT_MILLIS)) instanceof AcquireResult.Granted);
        commands.set(0, server(3).lockCommands());
        commands.set(1, server(4).lockCommands());
        late.forEach(LateBytes::deliver);
        await().atMost(PATIENCE)
                .until(() ->
                        server(3).lockCommands() > commands.get(0) && server(4).lockCommands() > commands.get(1));

        free(0, 1);
        assertThat(Attempts.tryAcquire(b, acquisition(mine.name()), 0, false, null))
                .isInstanceOf(AcquireResult.Busy.class);
    }

    /** The caller did not wait for the first attempt's last answer, and tried again over the same links. */
    @Test
    void attemptThatEndsLate_leavesTheNextAttemptsGrant() throws Exception {
        occupy(0, 1, 2);
        fixture.proxies().get(0).hold(Direction.TO_CLIENT);
        CompletableFuture<AcquireResult> first = tryAcquire(60_000, BackendDriver.TIMEOUT_MILLIS);
        awaitHeld(3, 4);
        free(2);
        assertThat(answer(tryAcquire(60_000, BackendDriver.TIMEOUT_MILLIS))).isInstanceOf(AcquireResult.Granted.class);

        fixture.proxies().get(0).pass();
        assertThat(answer(first)).isInstanceOf(AcquireResult.Busy.class);
        free(0, 1);
        assertThat(Attempts.tryAcquire(b, acquisition(mine.name()), 0, false, null))
                .isInstanceOf(AcquireResult.Busy.class);
    }

    /** A thread was paused before it sent another attempt. */
    @Test
    void attemptAfterTheGrant_takesNothingBack() throws Exception {
        occupy(3, 4);
        AcquireResult granted = answer(tryAcquire(60_000, BackendDriver.TIMEOUT_MILLIS));
        assertThat(granted).isInstanceOf(AcquireResult.Granted.class);
        fixture.proxies().get(2).blackHole();
        answer(tryAcquire(60_000, 500).handle((attempt, failure) -> attempt));
        free(3, 4);
        assertThat(Attempts.tryAcquire(b, acquisition(mine.name()), 0, false, null))
                .isInstanceOf(AcquireResult.Busy.class);
        fixture.proxies().get(2).pass();
        Grant grant = ((AcquireResult.Granted) granted).grant();
        // A release that was not confirmed may have released on some servers; the next one finds nothing there.
        await().atMost(PATIENCE).ignoreExceptions().until(() -> release(a, grant) != null);
        await().atMost(PATIENCE)
                .until(() -> Attempts.tryAcquire(b, acquisition(mine.name()), 0, false, null)
                        instanceof AcquireResult.Granted);
    }

    /** What the later attempt took back may have been the earlier one's. */
    @Test
    void earlierAttempt_doesNotGrantOnceALaterOneHasBegun() throws Exception {
        occupy(3, 4);
        fixture.proxies().get(0).hold(Direction.TO_CLIENT);
        CompletableFuture<AcquireResult> first = tryAcquire(60_000, BackendDriver.TIMEOUT_MILLIS);
        awaitHeld(0, 1, 2);
        fixture.proxies().get(2).blackHole(Direction.TO_SERVER);
        CompletableFuture<AcquireResult> second = tryAcquire(60_000, 500);
        answer(second.handle((attempt, failure) -> attempt));
        fixture.proxies().get(0).pass();
        assertThat(first).failsWithin(PATIENCE).withThrowableThat().withCauseInstanceOf(LockUnavailableException.class);
    }

    /** The servers did not know the script of the attempt, so it was sent again, behind the abandonment. */
    @Test
    void grantThatComesAfterTheAbandonment_isTakenBack() throws Exception {
        try {
            for (RedisServer server : fixture.servers()) {
                server.command("SCRIPT", "FLUSH");
                server.command("SCRIPT", "LOAD", RedisScript.RELEASE.body());
            }
            fixture.proxies().forEach(proxy -> proxy.hold(Direction.TO_CLIENT));
            CompletableFuture<AcquireResult> attempt = tryAcquire(0, BackendDriver.TIMEOUT_MILLIS);
            CompletableFuture<Void> abandoned =
                    a.abandon(mine, BackendDriver.TIMEOUT_MILLIS).toCompletableFuture();
            fixture.heal();

            assertThat(attempt)
                    .failsWithin(PATIENCE)
                    .withThrowableThat()
                    .withCauseInstanceOf(LockUnavailableException.class);
            answer(abandoned);
            assertThat(Attempts.tryAcquire(b, acquisition(mine.name()), 0, false, null))
                    .isInstanceOf(AcquireResult.Granted.class);
        } finally {
            for (RedisServer server : fixture.servers()) {
                for (String script : RedisLocks.scripts()) {
                    server.command("SCRIPT", "LOAD", script);
                }
            }
        }
    }

    /** The engine abandons what has a ticket, so that a grant which may be left does not stay for its lease. */
    @Test
    void takeBackThatIsNotConfirmed_hasATicket() throws Exception {
        occupy(0, 1, 2);
        fixture.proxies().get(0).hold(Direction.TO_CLIENT);
        CompletableFuture<AcquireResult> attempt = tryAcquire(0, 5_000);
        awaitHeld(3, 4);
        fixture.proxies().get(3).blackHole(Direction.TO_SERVER);
        fixture.proxies().get(0).pass();
        assertThat(ticket(attempt)).isNotNull();
    }

    @Test
    void voteThatFailed_hasATicket() throws Exception {
        occupy(0, 1, 2);
        assertThat(ticket(tryAcquire(0, BackendDriver.TIMEOUT_MILLIS))).isNull();
        fixture.proxies().get(3).blackHole(Direction.TO_CLIENT);
        assertThat(ticket(tryAcquire(0, 5_000))).isNotNull();
    }

    private static @Nullable Ticket ticket(CompletableFuture<AcquireResult> attempt) throws Exception {
        return ((AcquireResult.Busy) BackendDriver.answer(attempt)).ticket();
    }

    private CompletableFuture<AcquireResult> tryAcquire(long waitMillis, long timeoutMillis) {
        return a.tryAcquire(new AcquireRequest(
                        mine, Attempts.LEASE_MILLIS, waitMillis, false, null, timeoutMillis, BackendDriver.IDENTITY))
                .toCompletableFuture();
    }

    /** Another client has the lock there. */
    private void occupy(int... masters) throws IOException {
        for (int i : masters) {
            server(i).command("SET", keys.lock(), "0 " + "0".repeat(32) + " 0 1 - 0 1 1 h somebody", "PX", "60000");
        }
    }

    private void free(int... masters) throws IOException {
        for (int i : masters) {
            server(i).command("DEL", keys.lock());
        }
    }

    private void awaitHeld(int... masters) {
        await().atMost(PATIENCE).until(() -> {
            for (int i : masters) {
                Object state = server(i).command("GET", keys.lock());
                if (state == null || !state.toString().startsWith("0 " + mine.owner())) {
                    return false;
                }
            }
            return true;
        });
    }

    private RedisServer server(int index) {
        return fixture.servers().get(index);
    }

    private static AcquisitionId acquisition(String name) {
        return BackendDriver.newAcquisition(name);
    }
}
