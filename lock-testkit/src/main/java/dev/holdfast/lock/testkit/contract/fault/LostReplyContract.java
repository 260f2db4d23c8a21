package dev.holdfast.lock.testkit.contract.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.contract.Actor;
import dev.holdfast.lock.testkit.contract.ClientGroup;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.support.HistoryChecker;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Requests whose outcome is unknown to the client. The lock's lease is long, so an obstacle does not expire. */
public abstract class LostReplyContract extends ClientGroup {
    private static final Duration SOON = Duration.ofSeconds(10);

    public LostReplyContract(ContractContext context) {
        super(context);
    }

    private FaultyClient own() {
        return faultyClient(ContractContext.clientOptions().build());
    }

    @Test
    @DisplayName("of an attempt that was granted: asks again as the same acquisition, and has the lock once")
    void attempt_lostReply_isRetried() throws Exception {
        String name = newName();
        FaultyClient own = own();
        own.faults().once(Request.ATTEMPT, Fault.LOST_REPLY);

        Lease lease = own.client().lock(name).acquire(SOON);

        assertThat(lease.isValid()).isTrue();
        assertThat(own.counts().count(Request.ATTEMPT, name)).as("attempts").isGreaterThan(1);
        lease.close();
        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("of an attempt that never answers: asks again after the request's time-out")
    void attempt_silence_isRetried() throws Exception {
        String name = newName();
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(1))
                .build();
        FaultyClient own = faultyClient(options);
        own.faults().once(Request.ATTEMPT, Fault.SILENCE);

        Lease lease = own.client().lock(name).acquire(PATIENCE);

        assertThat(lease.isValid()).isTrue();
        lease.close();
        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("of a waiter's attempts: still gets the lock when it is released")
    void attempt_lostRepliesOfWaiter_getsLock() throws Exception {
        String name = newName();
        FaultyClient own = own();
        Lease held = second().lock(name).acquire();
        own.faults().once(Request.ATTEMPT, Fault.LOST_REPLY);
        own.faults().once(Request.ATTEMPT, Fault.REFUSED);
        own.faults().once(Request.ATTEMPT, Fault.DUPLICATE);
        CompletableFuture<Lease> waiting =
                actor().start(() -> own.client().lock(name).acquire());
        Waits.until("told that it is busy", () -> own.counts().busyAcquisitions(name) > 0);

        held.close();

        Actor.result(waiting).close();
        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("of an attempt that the server got twice: has the lock once")
    void attempt_duplicate_isOneGrant() throws Exception {
        String name = newName();
        FaultyClient own = own();
        own.faults().once(Request.ATTEMPT, Fault.DUPLICATE);

        own.client().lock(name).acquire().close();

        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("of tryLock(): throws LockUnavailableException, and cleans up")
    void tryLock_lostReply_throwsAndCleansUp() throws Exception {
        String name = newName();
        FaultyClient own = own();
        own.faults().once(Request.ATTEMPT, Fault.LOST_REPLY);

        assertThatThrownBy(own.client().lock(name)::tryLock)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining(name);

        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("of every attempt: ends within the caller's time with LockUnavailableException")
    void attempt_alwaysRefused_endsInTime() {
        String name = newName();
        FaultyClient own = own();
        own.faults().always(Request.ATTEMPT, Fault.REFUSED);

        assertThatThrownBy(() -> own.client().lock(name).acquire(Duration.ofMillis(500)))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining(name);
        assertThat(Actor.failureOf(own.client().lock(name).acquireAsync(Duration.ofMillis(300))))
                .isInstanceOf(LockUnavailableException.class);
    }

    @Test
    @DisplayName("of every attempt of a form without a deadline: ends after unavailableTimeout")
    void attempt_alwaysRefused_endsAfterUnavailableTimeout() throws Exception {
        FaultyClient own = faultyClient(LockClientOptions.builder()
                .unavailableTimeout(Duration.ofMillis(500))
                .build());
        own.faults().always(Request.ATTEMPT, Fault.REFUSED);

        List<CompletableFuture<?>> calls = List.of(
                actor().start(own.client().lock(newName())::lock),
                actor().start(own.client().lock(newName())::lockInterruptibly),
                actor().start(() -> own.client().lock(newName()).acquire()));

        for (CompletableFuture<?> call : calls) {
            assertThat(Actor.failure(call)).isInstanceOf(LockUnavailableException.class);
        }
    }

    @Test
    @DisplayName("of a release that was done: unlock returns in order, and the lock is free")
    void release_lostReply_frees() throws Exception {
        String name = newName();
        FaultyClient own = own();
        own.faults().once(Request.RELEASE, Fault.LOST_REPLY);
        own.client().lock(name).lock();

        own.client().lock(name).unlock();

        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName(
            "of a release that was not done: unlock returns in order, and the release is repeated in the background")
    void release_refused_isRepeated() throws Exception {
        String name = newName();
        FaultyClient own = own();
        own.faults().once(Request.RELEASE, Fault.REFUSED);
        own.faults().once(Request.RELEASE, Fault.REFUSED);
        own.client().lock(name).lock();

        own.client().lock(name).unlock();

        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("of a release that the server got twice: harms nobody")
    void release_duplicate_frees() throws Exception {
        String name = newName();
        FaultyClient own = own();
        own.faults().once(Request.RELEASE, Fault.DUPLICATE);
        own.client().lock(name).acquire().close();

        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("of a renewal that was done: keeps the lock")
    void renew_lostReply_keepsLock() throws Exception {
        withGrowingLease(this::keepsLockThoughRepliesAreLost);
    }

    private void keepsLockThoughRepliesAreLost(Duration leaseLength) throws Exception {
        String name = newName();
        FaultyClient own = own();
        LockOptions options = leaseOf(leaseLength.multipliedBy(3), Renewal.AUTO);
        try (Lease lease = own.client().lock(name, options).acquire()) {
            own.faults().once(Request.RENEW, Fault.LOST_REPLY);
            own.faults().once(Request.RENEW, Fault.DUPLICATE);
            long renewals = own.counts().count(Request.RENEW, name);

            untilRenewed(own.counts(), lease, renewals + 2);

            assertThat(lease.isValid()).isTrue();
        }
        assertBecomesFree(name, SOON);
    }

    @Test
    @DisplayName("and errors at random, of two contending clients: never lets both have the lock, and tokens rise")
    void random_contention_isSafe() throws Exception {
        long seed =
                Long.getLong("holdfast.faults.seed", ThreadLocalRandom.current().nextLong());
        HistoryChecker history = new HistoryChecker();
        String name = newName();
        // Without the hand-off every acquisition is a request: with it, a fast store may see too few to hit one.
        LockClientOptions plain =
                ContractContext.clientOptions().handOffLimit(0).build();
        List<FaultyClient> clients = List.of(faultyClient(plain), faultyClient(plain));
        List<CompletableFuture<Boolean>> runs = new ArrayList<>();
        LockOptions options = LockOptions.builder()
                .lease(fixture().shortLease().multipliedBy(2))
                .build();
        for (int i = 0; i < 4; i++) {
            FaultyClient client = clients.get(i % 2);
            client.faults().randomly(seed + i % 2, 0.15);
            runs.add(actor().start(() -> {
                for (int round = 0; round < 15; round++) {
                    acquireOnce(client, name, options, history);
                }
            }));
        }
        for (CompletableFuture<Boolean> run : runs) {
            Actor.result(run);
        }

        assertThat(history.violations())
                .as("with -Dholdfast.faults.seed=%d", seed)
                .isEmpty();
        assertThat(history.confirmedClaims()).as("claims").isGreaterThan(20);
        assertThat(clients.stream()
                        .mapToLong(client -> client.faults().injected())
                        .sum())
                .as("faults")
                .isPositive();
        assertBecomesFree(name);
    }

    private static void acquireOnce(FaultyClient client, String name, LockOptions options, HistoryChecker history)
            throws InterruptedException {
        try (Lease lease = client.client().lock(name, options).acquire()) {
            HistoryChecker.Claim claim = history.acquired(lease);
            claim.confirm();
            Thread.yield();
            claim.confirm();
        } catch (LeaseLostException | LockUnavailableException e) {
            // Allowed while requests fail: what counts is that no two claims overlap.
            assertThat(e).hasMessageContaining(name);
        }
    }
}
