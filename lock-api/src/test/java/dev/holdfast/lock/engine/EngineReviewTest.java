package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a review found in the engine's parts, so that it does not come back. */
class EngineReviewTest {

    @Test
    void confirm_sentBeforeTheLatestDoubt_leavesTheDoubt() {
        LockEntry entry = new LockEntry("n", InlineBackend.client());
        Grant grant = new Grant(new AcquisitionId("n", OwnerId.random()), 1, 15_000, null);
        HeldGrant heldGrant =
                new HeldGrant(entry.heldLock(), grant, LockOptions.defaults(), 0, new RequestTime(0, 0), false);
        heldGrant.doubt(100);
        heldGrant.doubt(300);

        heldGrant.confirm(new RequestTime(200, 0), 400, 15_000, true);
        assertThat(heldGrant.isDoubted()).isTrue();
        assertThat(heldGrant.renewDueNanos).as("asked again at once").isEqualTo(400);

        heldGrant.confirm(new RequestTime(301, 0), 500, 15_000, true);
        assertThat(heldGrant.isDoubted()).isFalse();
    }

    @Test
    void effect_thatFails_leavesTheOthersToBeDone() {
        List<String> done = new ArrayList<>();
        StateMutex mutex = new StateMutex(() -> {});
        mutex.run(() -> {
            mutex.afterUnlock(() -> {
                throw new IllegalStateException("on purpose");
            });
            mutex.afterUnlock(() -> done.add("next"));
        });
        assertThat(done).containsExactly("next");
    }

    @Test
    void call_thatThrowsAnError_isAFailedStage() {
        assertThat(Failures.call(() -> {
                    throw new StackOverflowError("on purpose");
                }))
                .isCompletedExceptionally();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void release_onAnOrderedStore_isFollowedAtOnceByTheNextAttempt(boolean ordered) {
        InlineBackend backend = new InlineBackend(ordered);
        EngineClient client = InlineBackend.client(
                backend, ClientOptions.builder().handOffLimit(0).build());
        AsyncWaiter first = waiter();
        AsyncWaiter second = waiter();
        client.submit("n", first);
        client.submit("n", second);
        CompletableFuture<ReleaseResult> answer = new CompletableFuture<>();
        backend.releaseAnswer = answer;

        Hold hold = Objects.requireNonNull(first.hold);
        hold.heldGrant.heldLock.end(hold);
        assertThat(second.state).isEqualTo(ordered ? Waiter.State.GRANTED : Waiter.State.WAITING);

        answer.complete(ReleaseResult.RELEASED);
        assertThat(second.state).isEqualTo(Waiter.State.GRANTED);
    }

    /** What a store still does for one that tries once, such as leaving a queue, may arrive at any time. */
    @Test
    void attempt_ofOneThatTriesOnceAndHadNoAnswer_isAbandonedAndItsAcquisitionNotUsedAgain() {
        InlineBackend backend = new InlineBackend(true);
        EngineClient client = InlineBackend.client(backend, ClientOptions.defaults());
        AsyncWaiter once = waiter(0);
        AsyncWaiter next = waiter();
        CompletableFuture<AcquireResult> answer = new CompletableFuture<>();
        backend.attemptAnswer = answer;
        client.submit("n", once);
        client.submit("n", next);

        backend.attemptAnswer = null;
        answer.completeExceptionally(new LockUnavailableException("on purpose"));

        assertThat(once.state).isEqualTo(Waiter.State.FAILED);
        assertThat(next.state).isEqualTo(Waiter.State.GRANTED);
        assertThat(backend.attempted).hasSize(2).doesNotHaveDuplicates();
        assertThat(backend.abandoned).containsExactly(backend.attempted.get(0));
    }

    private static AsyncWaiter waiter() {
        return waiter(Waiter.FOREVER);
    }

    private static AsyncWaiter waiter(long timeoutNanos) {
        return new AsyncWaiter(
                "n", LockOptions.defaults(), timeoutNanos, System.nanoTime(), Runnable::run, Simulation.SimLease::new);
    }
}
