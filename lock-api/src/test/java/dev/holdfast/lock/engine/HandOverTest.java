package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A release makes a waiting acquisition the holder: its lease counts from its latest attempt. */
class HandOverTest {
    private static final long MILLI = 1_000_000;
    private static final long LEASE_MILLIS = 2_000;

    private final Virtual virtual = new Virtual(
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(1)).build(), ImpoliteBackend::new);
    private final ImpoliteBackend backend = (ImpoliteBackend) virtual.backend;

    @Test
    void leaseCounts_fromWhenTheAttemptWasSent_notFromTheMessage() {
        AsyncWaiter waiter = waiting(LockOptions.defaults());
        virtual.pass(1_000 * MILLI);
        handOver(0);

        assertThat(waiter.state).isEqualTo(Waiter.State.GRANTED);
        // 2 s less 1 %, 50 ms and the second that has passed
        assertThat(virtual.remainingMillis(held(waiter))).isBetween(925L, 930L);
        assertThat(backend.requests).hasSize(1);
    }

    /** The receiver keeps the remainder of the first lease, or sends a request. */
    @ParameterizedTest
    @ValueSource(longs = {100, 200, 500, 1_000, 2_000})
    void handedOverLate_isKept_orAskedFor(long leaseMillis) {
        LockOptions options =
                LockOptions.builder().lease(Duration.ofMillis(leaseMillis)).build();
        for (long age = 0; age <= leaseMillis; age += Math.max(1, leaseMillis / 50)) {
            Virtual world = new Virtual(LockClientOptions.defaults(), ImpoliteBackend::new);
            ImpoliteBackend store = (ImpoliteBackend) world.backend;
            store.answerLate().complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
            AsyncWaiter waiter = world.submit("n", options, Waiter.FOREVER);
            world.pass(age * MILLI);
            AcquireRequest asked = store.requests.get(0);
            Objects.requireNonNull(asked.onHandOver()).accept(new Grant(asked.acquisition(), 5, leaseMillis, null));
            world.pass(3 * leaseMillis * MILLI);
            assertThat(held(waiter).state).as("age %d of %d", age, leaseMillis).isEqualTo(Hold.State.HELD);
        }
    }

    /** Less than a third of the lease is left, or nothing. */
    @ParameterizedTest
    @ValueSource(longs = {1_300, 1_930})
    void message_thatComesTooLate_isNoGrant_andTheNextAttemptTells(long ageMillis) {
        AsyncWaiter waiter = waiting(LockOptions.defaults());
        virtual.pass(ageMillis * MILLI);
        CompletableFuture<AcquireResult> next = backend.answerLate();
        handOver(0);

        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);
        assertThat(backend.requests).hasSize(2);
        next.complete(new AcquireResult.Granted(backend.grant(7)));
        assertThat(virtual.remainingMillis(held(waiter))).isGreaterThan(14_000);
    }

    @Test
    void messageBeforeTheAnswer_countsWithTheAnswer() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter waiter = virtual.submit("n", LockOptions.defaults(), Waiter.FOREVER);
        virtual.pass(300 * MILLI);
        handOver(0);
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);

        answer.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        assertThat(virtual.remainingMillis(held(waiter))).isBetween(1_625L, 1_630L);
        assertThat(backend.requests).hasSize(1);
    }

    /** It probably has the lock, so no other client does: the attempt that finds the grant follows without a pause. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void message_aboutAnAttemptThatFails_isAskedForAtOnce(boolean messageFirst) {
        AsyncWaiter waiter = waiting(LockOptions.defaults());
        CompletableFuture<AcquireResult> second = backend.answerLate();
        Objects.requireNonNull(backend.signal).run();
        CompletableFuture<AcquireResult> third = backend.answerLate();
        if (messageFirst) {
            handOver(1);
        }
        second.completeExceptionally(new LockUnavailableException("no answer"));
        if (!messageFirst) {
            assertThat(backend.requests).hasSize(2);
            handOver(1);
        }

        assertThat(backend.requests).hasSize(3);
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);
        third.complete(new AcquireResult.Granted(backend.grant(7)));
        assertThat(waiter.state).isEqualTo(Waiter.State.GRANTED);
    }

    /**
     * It may be about a grant that has ended since, or the store received two attempts in another order and notifies no other
     * waiter.
     */
    @Test
    void messageOfAnEarlierAttempt_isAskedAbout_unlessALaterOneIsOut() {
        AsyncWaiter waiter = waiting(LockOptions.defaults());
        CompletableFuture<AcquireResult> second = backend.answerLate();
        Objects.requireNonNull(backend.signal).run();
        handOver(0);
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);

        second.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);
        assertThat(backend.requests).hasSize(2);
        CompletableFuture<AcquireResult> third = backend.answerLate();
        handOver(0);
        assertThat(backend.requests).hasSize(3);
        third.complete(new AcquireResult.Granted(backend.grant(7)));
        assertThat(waiter.state).isEqualTo(Waiter.State.GRANTED);
    }

    @Test
    void message_afterItsAcquisitionWasGivenUp_isAbandonedAgain() {
        AsyncWaiter waiter = waiting(LockOptions.defaults());
        Objects.requireNonNull(virtual.client.entries().find("n")).cancel(waiter);
        assertThat(backend.abandoned).hasSize(1);

        handOver(0);
        assertThat(backend.abandoned).hasSize(2);
        assertThat(waiter.hold).isNull();
    }

    @Test
    void shortFirstLease_isRenewedToTheFullOne_unlessItIsReleasedBefore() {
        AsyncWaiter first = waiting(LockOptions.defaults());
        handOver(0);
        virtual.pass(99 * MILLI);
        assertThat(backend.renewals).isZero();
        virtual.pass(2 * MILLI);
        assertThat(backend.renewals).isEqualTo(1);

        virtual.end(held(first));
        virtual.pass(Virtual.SECOND);
        assertThat(backend.renewals).isEqualTo(1);
    }

    @Test
    void repeatedMessage_isIgnored() {
        AsyncWaiter waiter = waiting(LockOptions.defaults());
        handOver(0);
        Hold held = held(waiter);
        handOver(0);
        assertThat(backend.abandoned).isEmpty();
        assertThat(held.state).isEqualTo(Hold.State.HELD);
    }

    /** The first grant was handed over unnoticed, and was deleted; the report of that comes after the second grant. */
    @Test
    void endOfAnEarlierGrantOfTheSameAcquisition_isNotThatOfTheLater() {
        virtual.end(virtual.hold("m", LockOptions.defaults()));
        virtual.pass(MILLI);
        Hold held = virtual.hold("m", LockOptions.defaults());
        Grant second = held.heldGrant.grant;
        Grant first = new Grant(second.acquisition(), second.token() - 1, LEASE_MILLIS, null);
        virtual.client.entries().lost(first, LossReason.REVOKED, "on purpose");
        assertThat(held.state).isEqualTo(Hold.State.HELD);
        virtual.client.entries().lost(second, LossReason.REVOKED, "on purpose");
        assertThat(held.state).isEqualTo(Hold.State.LOST);
    }

    @Test
    void endOfAnEarlierGrant_whileTheAnswerIsOut_isNotThatOfTheLater() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter waiter = virtual.submit("n", LockOptions.defaults(), Waiter.FOREVER);
        Grant first = new Grant(backend.requests.get(0).acquisition(), 6, LEASE_MILLIS, null);
        virtual.client.entries().lost(first, LossReason.REVOKED, "on purpose");
        answer.complete(new AcquireResult.Granted(backend.grant(7)));
        assertThat(held(waiter).state).isEqualTo(Hold.State.HELD);
    }

    @Test
    void whoDoesNotRenew_orDoesNotWait_isHandedNothing() {
        waiting(LockOptions.builder().renewal(Renewal.NONE).build());
        assertThat(backend.requests.get(0).onHandOver()).isNull();

        backend.answerLate();
        virtual.submit("m", LockOptions.defaults(), 0);
        assertThat(backend.requests.get(1).onHandOver()).isNull();

        backend.answerLate();
        LockOptions staying =
                LockOptions.builder().minHold(Duration.ofSeconds(5)).build();
        virtual.submit("o", staying, Waiter.FOREVER);
        assertThat(backend.requests.get(2).onHandOver()).isNull();
    }

    /** A waiter in the queue of the store. */
    private AsyncWaiter waiting(LockOptions options) {
        backend.answerLate().complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        AsyncWaiter waiter = virtual.submit("n", options, Waiter.FOREVER);
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);
        return waiter;
    }

    /** The store's message to that attempt. */
    private void handOver(int attempt) {
        AcquireRequest request = backend.requests.get(attempt);
        Objects.requireNonNull(request.onHandOver())
                .accept(new Grant(request.acquisition(), 5 + attempt, LEASE_MILLIS, null));
        virtual.pass(0);
    }

    private static Hold held(AsyncWaiter waiter) {
        return Objects.requireNonNull(waiter.hold);
    }

    static List<LockOptions> optionsThatTakeNoShortLease() {
        return List.of(
                LockOptions.builder().renewal(Renewal.NONE).build(),
                LockOptions.builder().minHold(Duration.ofSeconds(5)).build());
    }

    @ParameterizedTest
    @MethodSource("optionsThatTakeNoShortLease")
    void message_toOneThatHasLeft_isAskedAbout_ifTheNextTakesNoShortLease(LockOptions options) {
        AsyncWaiter leaves = waiting(LockOptions.defaults());
        AsyncWaiter next = virtual.submit("n", options, Waiter.FOREVER);
        Objects.requireNonNull(virtual.client.entries().find("n")).cancel(leaves);
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        handOver(0);
        assertThat(next.state).isEqualTo(Waiter.State.WAITING);
        assertThat(backend.requests).hasSize(2);
        answer.complete(new AcquireResult.Granted(backend.grant(7)));
        assertThat(virtual.remainingMillis(held(next))).isGreaterThan(14_000);
    }

    /** It would have to be renewed without a holder. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shortFirstLease_isHandedOff_unlessTheNextLetsTheLockStayTaken(boolean stays) {
        AsyncWaiter first = waiting(LockOptions.defaults());
        handOver(0);
        LockOptions options =
                stays ? LockOptions.builder().minHold(Duration.ofSeconds(5)).build() : LockOptions.defaults();
        AsyncWaiter next = virtual.submit("n", options, Waiter.FOREVER);
        backend.answerLate();
        virtual.end(held(first));
        assertThat(next.state).isEqualTo(stays ? Waiter.State.WAITING : Waiter.State.GRANTED);
        assertThat(backend.requests).hasSize(stays ? 2 : 1);
    }
}
