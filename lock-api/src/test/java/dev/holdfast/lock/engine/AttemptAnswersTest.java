package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How an acquisition handles the store's answers and notifications, in any order. */
class AttemptAnswersTest {
    private static final LockOptions PLAIN = LockOptions.defaults();
    private static final LockOptions LONG =
            LockOptions.builder().lease(Duration.ofSeconds(60)).build();

    private Virtual virtual = virtual(LockClientOptions.builder());
    private ImpoliteBackend backend = (ImpoliteBackend) virtual.backend;

    private static Virtual virtual(LockClientOptions.Builder options) {
        return new Virtual(options.build(), ImpoliteBackend::new);
    }

    private AcquireResult granted() {
        return new AcquireResult.Granted(backend.grant(7));
    }

    private AsyncWaiter submit(LockOptions options) {
        return virtual.submit("n", options, Waiter.FOREVER);
    }

    private void cancel(AsyncWaiter waiter) {
        Objects.requireNonNull(virtual.client.entries().find("n")).cancel(waiter);
    }

    @Test
    void shorterLease_thanAskedFor_isReliedUponForThatLong() {
        backend.longestMillis = 5_000;
        Hold held = Objects.requireNonNull(submit(PLAIN).hold);
        assertThat(virtual.remainingMillis(held)).isEqualTo(4_850);
    }

    @Test
    void grant_thatComesAfterItsOneTryHasFailed_isAbandonedAgain() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter waiter = virtual.submit("n", PLAIN, 0);
        virtual.pass(5 * Virtual.SECOND);
        assertThat(waiter.state).isEqualTo(Waiter.State.FAILED);
        int before = backend.abandoned.size();
        answer.complete(granted());
        assertThat(backend.abandoned).hasSize(before + 1);
    }

    @Test
    void grant_ofAnEarlierAttempt_isTaken() {
        CompletableFuture<AcquireResult> first = backend.answerLate();
        backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        virtual.pass(4 * Virtual.SECOND);
        assertThat(backend.requests).hasSize(2);
        assertThat(backend.requests.get(1).acquisition())
                .isEqualTo(backend.requests.get(0).acquisition());

        first.complete(granted());
        assertThat(waiter.state).isEqualTo(Waiter.State.GRANTED);
        assertThat(virtual.remainingMillis(Objects.requireNonNull(waiter.hold)))
                .as("counted from the first request")
                .isEqualTo(10_550);
        assertThat(waiter.hold.heldGrant.uncertain).isTrue();
    }

    @Test
    void busy_ofAnEarlierAttempt_doesNotAnswerTheLatest() {
        CompletableFuture<AcquireResult> first = backend.answerLate();
        CompletableFuture<AcquireResult> second = backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        virtual.pass(4 * Virtual.SECOND);
        first.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        assertThat(backend.signal).as("its queue position may have changed").isNull();
        second.completeExceptionally(OutageBackend.unreachable());
        virtual.pass(Virtual.SECOND);
        assertThat(waiter.state).as("retried").isEqualTo(Waiter.State.GRANTED);
    }

    @Test
    void release_ofWhatTookASecondAttempt_isFollowedByAnAbandonment_thoughItIsConfirmed() {
        backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        virtual.pass(4 * Virtual.SECOND);
        Hold held = Objects.requireNonNull(waiter.hold);
        assertThat(held.heldGrant.uncertain).isTrue();
        virtual.end(held);
        virtual.pass(Virtual.SECOND);
        assertThat(backend.abandoned)
                .as("the time left for the first when it arrives")
                .containsExactly(held.heldGrant.grant.acquisition());
    }

    /** The release is followed by an abandonment, since the first attempt may still arrive. */
    @Test
    void grant_ofAnEarlierAttempt_whileItIsReleased_isLeftToTheAbandonmentBehindIt() {
        CompletableFuture<AcquireResult> first = backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        virtual.pass(4 * Virtual.SECOND);
        Hold held = Objects.requireNonNull(waiter.hold);
        assertThat(held.heldGrant.uncertain).isTrue();
        backend.silent = true;
        virtual.end(held);
        first.complete(granted());
        assertThat(backend.abandoned).as("not before the release").isEmpty();
        backend.silent = false;
        virtual.pass(60 * Virtual.SECOND);
        assertThat(backend.abandoned).contains(held.heldGrant.grant.acquisition());
        assertThat(virtual.client.isIdle()).isTrue();
    }

    /** One waiter comes shortly before or after a later attempt, which gets no answer, and waits for a second. */
    @ParameterizedTest
    @CsvSource({"-100, BUSY", "100, WAITING"})
    void deadline_isBusy_unlessAnAttemptIsOutForAsLongAsItsCallerWaited(long millisBehind, Waiter.State state) {
        CompletableFuture<AcquireResult> first = backend.answerLate();
        backend.answerLate();
        submit(PLAIN);
        first.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        long sentNanos = 10 * Virtual.SECOND;
        virtual.world.after(
                virtual.machine,
                sentNanos,
                () -> Objects.requireNonNull(backend.signal).run());
        virtual.pass(sentNanos + millisBehind * 1_000_000);
        AsyncWaiter brief = virtual.submit("n", PLAIN, Virtual.SECOND);
        virtual.pass(Virtual.SECOND + 1_000_000);
        assertThat(backend.requests).hasSize(2);
        assertThat(brief.state).isEqualTo(state);
    }

    /**
     * The store answers once and fails from then on. For a waiter that has waited longer than the request time-out, that
     * answer is too old.
     */
    @ParameterizedTest
    @CsvSource({"2, BUSY", "10, FAILED"})
    void deadline_behindAnAnswer_isBusy_ifThatIsNoLongerAgoThanARequestMayTake(long seconds, Waiter.State state) {
        CompletableFuture<AcquireResult> first = backend.answerLate();
        AsyncWaiter waiter = virtual.submit("n", PLAIN, seconds * Virtual.SECOND);
        virtual.pass(Virtual.SECOND / 2);
        first.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        backend.failure = OutageBackend::unreachable;
        Objects.requireNonNull(backend.signal).run();
        virtual.pass(seconds * Virtual.SECOND);
        assertThat(waiter.state).isEqualTo(state);
    }

    @Test
    void grant_thatWasReportedLostBefore_isAbandoned_andAskedForAnew() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        Grant grant = backend.grant(7);
        virtual.client.entries().lost(grant, LossReason.SESSION_LOST, "on purpose");
        answer.complete(new AcquireResult.Granted(grant));

        assertThat(backend.abandoned).containsExactly(grant.acquisition());
        assertThat(backend.requests).hasSize(2);
        assertThat(Objects.requireNonNull(waiter.hold).heldGrant.grant).isNotEqualTo(grant);
    }

    @Test
    void grant_thatWasDoubtedBefore_isDoubted() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        virtual.client.entries().suspect(backend.grant(7), "on purpose");
        answer.complete(granted());
        assertThat(Objects.requireNonNull(waiter.hold).heldGrant.isDoubted()).isTrue();
        virtual.pass(1_000_000);
        assertThat(waiter.hold.heldGrant.isDoubted()).as("sent immediately").isFalse();
    }

    @Test
    void news_ofAnotherAcquisition_isNotOurs() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        Grant other = new Grant(new AcquisitionId("n", OwnerId.random()), 8, 15_000, null); // higher than ours
        virtual.client.entries().suspect(other, "on purpose");
        virtual.client.entries().lost(other, LossReason.REVOKED, "on purpose");
        answer.complete(granted());
        assertThat(Objects.requireNonNull(waiter.hold).heldGrant.isDoubted()).isFalse();
        assertThat(backend.requests).hasSize(1);
    }

    @Test
    void grant_thatTookLongerThanItsLease_isNotUsed() {
        virtual = virtual(LockClientOptions.builder().requestTimeout(Duration.ofSeconds(60)));
        backend = (ImpoliteBackend) virtual.backend;
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        virtual.pass(20 * Virtual.SECOND);
        answer.complete(granted());
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);
        virtual.pass(Virtual.SECOND);
        assertThat(backend.requests).as("sent again").hasSize(2);
    }

    @Test
    void grant_thatTookLongerThanItsLease_failsOneThatTriesOnce() {
        virtual = virtual(LockClientOptions.builder().requestTimeout(Duration.ofSeconds(60)));
        backend = (ImpoliteBackend) virtual.backend;
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter waiter = virtual.submit("n", PLAIN, 0);
        virtual.pass(20 * Virtual.SECOND);
        answer.complete(granted());
        assertThat(waiter.failure).isInstanceOf(LockUnavailableException.class).hasMessageContaining("took 20.0 s");
        assertThat(backend.abandoned).hasSize(1);
    }

    @Test
    void deadline_whileTheFirstAnswerIsOut_isThatOfARequest() {
        backend.answerLate();
        AsyncWaiter waiter = virtual.submit("n", PLAIN, 10_000_000);
        virtual.pass(2_990_000_000L);
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);
        virtual.pass(20_000_000);
        assertThat(waiter.state).isEqualTo(Waiter.State.FAILED);
        assertThat(waiter.failure).isInstanceOf(LockUnavailableException.class);
    }

    /** It may have two grants on the server: the abandonment ends it, not a release. */
    @Test
    void grant_ofALaterAttempt_thatIsLost_isAbandoned() {
        backend.answerLate();
        AsyncWaiter waiter = virtual.submit(
                "n", LockOptions.builder().maxHold(Duration.ofSeconds(2)).build(), Waiter.FOREVER);
        virtual.pass(4 * Virtual.SECOND);
        Hold held = Objects.requireNonNull(waiter.hold);
        assertThat(backend.abandoned).isEmpty();
        virtual.pass(3 * Virtual.SECOND);
        assertThat(held.lossReason()).isEqualTo(LossReason.MAX_HOLD);
        assertThat(backend.abandoned).containsExactly(held.heldGrant.grant.acquisition());
        assertThat(virtual.client.isIdle()).isTrue();
    }

    /** The store has ended the grant; the first attempt may still arrive. */
    @Test
    void grant_ofALaterAttempt_thatTheStoreEnds_isAbandonedAllTheSame() {
        backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        virtual.pass(4 * Virtual.SECOND);
        Hold held = Objects.requireNonNull(waiter.hold);
        virtual.client.entries().lost(held.heldGrant.grant, LossReason.REVOKED, "on purpose");
        virtual.pass(1_000_000);
        assertThat(held.lossReason()).isEqualTo(LossReason.REVOKED);
        assertThat(backend.abandoned).containsExactly(held.heldGrant.grant.acquisition());
    }

    @Test
    void loss_letsTheNextWaiterAsk() {
        Hold held = virtual.hold("n", PLAIN);
        AsyncWaiter next = submit(PLAIN);
        backend.remove("n");
        virtual.client.entries().lost(held.heldGrant.grant, LossReason.REVOKED, "on purpose");
        virtual.pass(1_000_000);
        assertThat(next.state).isEqualTo(Waiter.State.GRANTED);
    }

    /** The answer of a backend that could not undo all of its partial grants. */
    @Test
    void busyWithATicket_thoughNobodyWaits_isAbandoned() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter waiter = virtual.submit("n", PLAIN, 0);
        answer.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        assertThat(waiter.state).isEqualTo(Waiter.State.BUSY);
        assertThat(backend.abandoned).hasSize(1);
    }

    @Test
    void signal_duringAnAttempt_repeatsIt() {
        CompletableFuture<AcquireResult> first = backend.answerLate();
        CompletableFuture<AcquireResult> second = backend.answerLate();
        backend.answerLate();
        submit(PLAIN);
        first.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        Runnable signal = Objects.requireNonNull(backend.signal);
        signal.run();
        assertThat(backend.requests).hasSize(2);
        assertThat(backend.requests.get(1).ticket()).isSameAs(ImpoliteBackend.PLACE);

        signal.run();
        second.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        assertThat(backend.requests)
                .as("its answer may be older than the signal")
                .hasSize(3);
    }

    @Test
    void busy_withoutASignal_isAskedAgainByThePoll() {
        CompletableFuture<AcquireResult> first = backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        first.complete(new AcquireResult.Busy(2_000, ImpoliteBackend.PLACE));
        virtual.pass(19 * Virtual.SECOND / 10);
        assertThat(backend.requests).hasSize(1);
        virtual.pass(Virtual.SECOND / 5);
        assertThat(waiter.state).as("when the holder's lease has ended").isEqualTo(Waiter.State.GRANTED);
        assertThat(backend.signal).as("is not subscribed any more").isNull();
    }

    @Test
    void newcomer_toAnOldOutage_hasAllItsPatience() {
        backend.failure = OutageBackend::unreachable;
        AsyncWaiter old = virtual.submit("n", PLAIN, 100 * Virtual.SECOND);
        virtual.pass(40 * Virtual.SECOND);
        AsyncWaiter newcomer = submit(PLAIN);
        virtual.pass(29 * Virtual.SECOND);
        assertThat(newcomer.state).isEqualTo(Waiter.State.WAITING);
        virtual.pass(3 * Virtual.SECOND);
        assertThat(newcomer.state).isEqualTo(Waiter.State.FAILED);
        assertThat(old.state).as("has its own deadline").isEqualTo(Waiter.State.WAITING);
    }

    @Test
    void patience_countsFromTheFirstFailureOnly() {
        CompletableFuture<AcquireResult> first = backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        first.complete(new AcquireResult.Busy(5_000, null));
        backend.failure = OutageBackend::unreachable;
        virtual.pass(34 * Virtual.SECOND);
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);
        virtual.pass(4 * Virtual.SECOND);
        assertThat(waiter.state).isEqualTo(Waiter.State.FAILED);
    }

    @Test
    void grant_forOneThatLeft_servesOneOfTheSameTerms() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter leaves = submit(PLAIN);
        AsyncWaiter stays = submit(PLAIN);
        cancel(leaves);
        answer.complete(granted());
        assertThat(stays.state).isEqualTo(Waiter.State.GRANTED);
        assertThat(backend.requests).hasSize(1);
        assertThat(backend.abandoned).isEmpty();
    }

    @Test
    void grant_forOneThatLeft_doesNotServeOneOfAnotherLease() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter leaves = submit(PLAIN);
        AsyncWaiter stays = submit(LONG);
        cancel(leaves);
        answer.complete(granted());
        assertThat(virtual.remainingMillis(Objects.requireNonNull(stays.hold))).isEqualTo(58_200);
        assertThat(backend.abandoned).containsExactly(backend.requests.get(0).acquisition());
    }

    @Test
    void grant_forOneThatLeft_doesNotServeAFairOne() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter leaves = submit(PLAIN);
        submit(LockOptions.builder().fair(true).build());
        cancel(leaves);
        answer.complete(granted());
        assertThat(backend.requests).hasSize(2);
        assertThat(backend.requests.get(1).fair()).isTrue();
    }

    @Test
    void busy_forOneThatLeft_isGivenUpForOneOfAnotherLease() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter leaves = submit(PLAIN);
        AsyncWaiter stays = submit(LONG);
        cancel(leaves);
        answer.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        assertThat(stays.state).isEqualTo(Waiter.State.GRANTED);
        assertThat(backend.abandoned).containsExactly(backend.requests.get(0).acquisition());
    }

    @Test
    void waiter_thatLeavesWhileQueued_givesItsPlaceUp() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        AsyncWaiter leaves = submit(PLAIN);
        answer.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        cancel(leaves);
        virtual.pass(1);
        assertThat(backend.abandoned).containsExactly(backend.requests.get(0).acquisition());
        assertThat(backend.signal).isNull();
        assertThat(virtual.client.isIdle()).isTrue();
    }

    /** A later answer need not repeat the ticket. */
    @Test
    void waiter_thatLeavesWhileQueued_givesItsPlaceUp_whateverTheLastAnswerSaidOfIt() {
        CompletableFuture<AcquireResult> first = backend.answerLate();
        CompletableFuture<AcquireResult> second = backend.answerLate();
        AsyncWaiter leaves = submit(PLAIN);
        first.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        Objects.requireNonNull(backend.signal).run();
        second.complete(new AcquireResult.Busy(-1, null));
        cancel(leaves);
        virtual.pass(1);
        assertThat(backend.requests).hasSize(2);
        assertThat(backend.abandoned).containsExactly(backend.requests.get(0).acquisition());
    }

    @Test
    void close_whileAnAttemptIsSilent_endsWithTheAttempt() {
        virtual = virtual(LockClientOptions.builder().requestTimeout(Duration.ofSeconds(2)));
        backend = (ImpoliteBackend) virtual.backend;
        backend.answerLate();
        submit(PLAIN);
        virtual.pass(3 * Virtual.SECOND / 2);
        CompletableFuture<Void> idle = Objects.requireNonNull(virtual.client.beginClose());
        virtual.pass(Virtual.SECOND / 2 - 1_000_000);
        assertThat(idle).isNotDone();
        virtual.pass(2_000_000);
        assertThat(idle).isDone();
    }

    /** Otherwise the backend would be closed before the request is sent. */
    @Test
    void grant_thatComesWhileTheClientCloses_isAbandonedBeforeThatCountsAsIdle() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        submit(PLAIN);
        List<Integer> abandonedByThen = new ArrayList<>();
        Objects.requireNonNull(virtual.client.beginClose())
                .thenRun(() -> abandonedByThen.add(backend.abandoned.size()));
        assertThat(backend.abandoned).hasSize(1);
        answer.complete(granted());
        assertThat(abandonedByThen).containsExactly(2);
    }

    /** If the store has a queue entry for it, attempts continue, since they add nothing that must be removed. */
    @Test
    void waiter_inTheStoresQueue_staysThere_howeverMuchIsToBeRemoved() {
        List<Hold> held = new ArrayList<>();
        for (int i = 0; i < Backlog.CAPACITY; i++) {
            held.add(virtual.hold("held" + i, PLAIN));
        }
        CompletableFuture<AcquireResult> first = backend.answerLate();
        CompletableFuture<AcquireResult> second = backend.answerLate();
        AsyncWaiter waiter = submit(PLAIN);
        first.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        backend.failure = OutageBackend::unreachable;
        held.forEach(virtual::end);
        virtual.pass(1_000_000);
        assertThat(virtual.submit("other", PLAIN, 0).failure).hasMessageContaining("earlier requests wait for removal");

        Objects.requireNonNull(backend.signal).run();
        second.complete(granted());
        assertThat(waiter.state).isEqualTo(Waiter.State.GRANTED);
    }

    /** After a single attempt, a store's later steps, such as leaving its queue, may arrive at any time. */
    @Test
    void attempt_ofOneThatTriesOnceAndHadNoAnswer_isAbandonedAndItsAcquisitionNotUsedAgain() {
        InlineBackend inline = new InlineBackend(true);
        EngineClient client = InlineBackend.client(inline, LockClientOptions.defaults());
        AsyncWaiter once = InlineBackend.waiter(0);
        AsyncWaiter next = InlineBackend.waiter(Waiter.FOREVER);
        CompletableFuture<AcquireResult> answer = new CompletableFuture<>();
        inline.attemptAnswer = answer;
        client.entries().submit("n", once);
        client.entries().submit("n", next);

        inline.attemptAnswer = null;
        answer.completeExceptionally(new LockUnavailableException("on purpose"));

        assertThat(once.state).isEqualTo(Waiter.State.FAILED);
        assertThat(next.state).isEqualTo(Waiter.State.GRANTED);
        assertThat(inline.attempted).hasSize(2).doesNotHaveDuplicates();
        assertThat(inline.abandoned).containsExactly(inline.attempted.get(0));
    }
}
