package dev.holdfast.lock.engine.internal.hold;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.engine.ImpoliteBackend;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.internal.queue.Virtual;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.RenewResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The effect of the answers to renewals on a lease: late ones, partial ones, unknown ones, and none. */
class RenewalAnswersTest {
    private static final LockOptions FIXED =
            LockOptions.builder().renewal(Renewal.NONE).build();
    private static final RenewResult UNKNOWN = new RenewResult.Unknown("on purpose", null);

    private final Virtual virtual = new Virtual(
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(1)).build(), ImpoliteBackend::new);
    private final ImpoliteBackend backend = (ImpoliteBackend) virtual.backend;
    private final List<String> reported = new ArrayList<>();

    RenewalAnswersTest() {
        virtual.client.addListener(new LockListener() {
            @Override
            public void suspect(String name, long token, String detail) {
                reported.add("suspect " + name);
            }

            @Override
            public void renewed(String name, long token) {
                reported.add("renewed " + name);
            }

            @Override
            public void lost(String name, long token, Duration held, LossReason reason) {
                reported.add("lost " + name + " " + reason);
            }
        });
    }

    private Hold hold(String name) {
        return virtual.hold(name, LockOptions.defaults());
    }

    @Test
    void renewal_isSentAtAThirdOfTheLease() {
        Hold held = hold("n");
        virtual.pass(4_998_000_000L);
        assertThat(backend.renewals).isZero();
        virtual.pass(2_000_000);
        assertThat(backend.renewals).isEqualTo(1);
        assertThat(virtual.remainingMillis(held)).isEqualTo(14_549);
        virtual.pass(5 * Virtual.SECOND);
        assertThat(backend.renewals).isEqualTo(2);
        assertThat(reported).containsExactly("renewed n", "renewed n");
    }

    @Test
    void shorterLease_isRenewedByItsOwnLength() {
        backend.longestMillis = 3_000;
        Hold held = hold("n");
        assertThat(virtual.remainingMillis(held)).isEqualTo(2_909);
        virtual.pass(10 * Virtual.SECOND);
        assertThat(backend.renewals).isEqualTo(10);
        assertThat(held.state).isEqualTo(Hold.State.HELD);
    }

    @Test
    void fixedLease_isNotRenewed_andEndsInTime() {
        Hold held = virtual.hold("n", FIXED);
        virtual.pass(14_548_000_000L);
        assertThat(held.state).isEqualTo(Hold.State.HELD);
        virtual.pass(2_000_000);
        assertThat(held.state).isEqualTo(Hold.State.LOST);
        assertThat(held.lossReason()).isEqualTo(LossReason.EXPIRED);
        assertThat(backend.renewals).isZero();
    }

    @Test
    void confirmation_afterItsStall_counts() {
        CompletableFuture<List<RenewResult>> answer = backend.renewLate();
        Hold held = hold("n");
        backend.failure = OutageBackend::unreachable;
        virtual.pass(8 * Virtual.SECOND - 1_000_000);
        assertThat(virtual.remainingMillis(held)).isEqualTo(6_550);

        answer.complete(List.of(new RenewResult.Renewed(15_000)));

        assertThat(virtual.remainingMillis(held)).isEqualTo(11_550);
        assertThat(held.heldGrant.failedRenewals()).isEqualTo(0);
    }

    /**
     * The process was paused until its lease had ended. Others may have held the lock since, and a late attempt may have
     * granted it to this owner again with a new token, which that renewal then found (verification/models/engine.pml).
     */
    @Test
    void confirmation_afterTheEndOfTheLease_doesNotReviveIt() {
        CompletableFuture<List<RenewResult>> answer = backend.renewLate();
        Hold held = hold("n");
        virtual.pass(6 * Virtual.SECOND);
        virtual.machine.pause(20 * Virtual.SECOND);
        virtual.pass(9 * Virtual.SECOND);
        assertThat(held.state).as("not checked yet").isEqualTo(Hold.State.HELD);
        assertThat(virtual.remainingMillis(held)).isNotPositive();

        answer.complete(List.of(new RenewResult.Renewed(15_000)));

        assertThat(held.state).isEqualTo(Hold.State.LOST);
        assertThat(held.lossReason()).isEqualTo(LossReason.EXPIRED);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void failure_afterItsStall_isNotCountedTwice(boolean unclear) {
        CompletableFuture<List<RenewResult>> answer = backend.renewLate();
        Hold held = hold("n");
        virtual.pass(6 * Virtual.SECOND);
        assertThat(reported).startsWith("suspect n");
        int failed = held.heldGrant.failedRenewals();
        int renewals = backend.renewals;

        if (unclear) {
            answer.complete(List.of(UNKNOWN));
        } else {
            answer.completeExceptionally(OutageBackend.unreachable());
        }

        assertThat(held.heldGrant.failedRenewals()).isEqualTo(failed);
        virtual.pass(1_000_000);
        assertThat(backend.renewals).isEqualTo(renewals);
    }

    @Test
    void loss_afterItsStall_isToldAtOnce() {
        CompletableFuture<List<RenewResult>> answer = backend.renewLate();
        Hold held = hold("n");
        virtual.pass(6 * Virtual.SECOND);
        answer.complete(List.of(new RenewResult.Lost(LossReason.REVOKED, "on purpose")));
        assertThat(held.state).isEqualTo(Hold.State.LOST);
        assertThat(held.lossReason()).isEqualTo(LossReason.REVOKED);
    }

    @Test
    void unknown_isNotALoss() {
        backend.renewResults.add(UNKNOWN);
        Hold held = hold("n");
        virtual.pass(5 * Virtual.SECOND);
        assertThat(held.state).isEqualTo(Hold.State.HELD);
        assertThat(held.heldGrant.failedRenewals()).isEqualTo(1);
        virtual.pass(Virtual.SECOND / 10);
        assertThat(held.heldGrant.failedRenewals()).isEqualTo(0);
        assertThat(reported).containsExactly("suspect n", "renewed n");
    }

    @Test
    void answers_ofOneRequest_areTakenEachForItself() {
        Hold kept = hold("kept");
        Hold unclear = hold("unclear");
        Hold gone = hold("gone");
        CompletableFuture<List<RenewResult>> answer = backend.renewLate();
        virtual.pass(5 * Virtual.SECOND);
        assertThat(backend.renewals).isEqualTo(1);
        backend.failure = OutageBackend::unreachable;
        List<RenewResult> results = new ArrayList<>();
        for (var grant : backend.renewed) {
            results.add(
                    switch (grant.acquisition().name()) {
                        case "kept" -> new RenewResult.Renewed(15_000);
                        case "gone" -> new RenewResult.Lost(LossReason.SESSION_LOST, "on purpose");
                        default -> UNKNOWN;
                    });
        }
        answer.complete(results);

        assertThat(kept.heldGrant.failedRenewals()).isEqualTo(0);
        assertThat(virtual.remainingMillis(kept)).isGreaterThan(14_000);
        assertThat(unclear.state).isEqualTo(Hold.State.HELD);
        assertThat(unclear.heldGrant.failedRenewals()).isEqualTo(1);
        assertThat(gone.lossReason()).isEqualTo(LossReason.SESSION_LOST);
    }

    @Test
    void answers_ofTheWrongNumber_sayNothing() {
        CompletableFuture<List<RenewResult>> answer = backend.renewLate();
        Hold held = hold("n");
        virtual.pass(5 * Virtual.SECOND);
        answer.complete(List.of());
        assertThat(held.state).isEqualTo(Hold.State.HELD);
        assertThat(held.heldGrant.failedRenewals()).isEqualTo(1);
    }

    /** At most a thousand are sent together; the others are not sent, and are retried together with these. */
    @Test
    void leases_behindARequestWithoutAnAnswer_areTriedAgain() {
        List<Hold> all = new ArrayList<>();
        for (int i = 0; i < 1_001; i++) {
            all.add(hold("n" + i));
        }
        backend.renewLate();
        virtual.pass(30 * Virtual.SECOND);
        assertThat(backend.renewals).isGreaterThan(2);
        assertThat(all).extracting(held -> held.state).containsOnly(Hold.State.HELD);
    }

    @Test
    void badSpell_isToldOnce_andAgainAfterAGoodOne() {
        hold("n");
        backend.failure = OutageBackend::unreachable;
        virtual.pass(8 * Virtual.SECOND);
        assertThat(backend.renewals).isGreaterThan(3);
        assertThat(reported).containsExactly("suspect n");
        backend.failure = null;
        virtual.pass(2 * Virtual.SECOND);
        backend.failure = OutageBackend::unreachable;
        virtual.pass(5 * Virtual.SECOND);
        assertThat(reported).containsExactly("suspect n", "renewed n", "suspect n");
    }

    @Test
    void failure_isTriedAgain_untilTheLeaseEnds() {
        Hold held = hold("n");
        backend.failure = OutageBackend::unreachable;
        virtual.pass(14_548_000_000L);
        assertThat(held.state).isEqualTo(Hold.State.HELD);
        assertThat(backend.renewals).as("after 20, 40, … ms, and every second").isBetween(12, 30);
        virtual.pass(2_000_000);
        assertThat(held.state).isEqualTo(Hold.State.LOST);
        assertThat(reported).containsExactly("suspect n", "lost n EXPIRED");
        String end = held.heldGrant.endOfTime(virtual.machine.nanos(), virtual.machine);
        assertThat(end)
                .startsWith("last confirmed ")
                .contains(" renewals failed, the last one: "
                        + OutageBackend.unreachable().getMessage());
    }

    @Test
    void doubt_ofAFixedLease_isClearedByTheStore_butTheLeaseIsNoLonger() {
        Hold held = virtual.hold("n", FIXED);
        virtual.pass(5 * Virtual.SECOND - 1_000_000);
        virtual.client.entries().suspect(held.heldGrant.grant, "on purpose");
        assertThat(held.heldGrant.isDoubted()).isTrue();
        virtual.pass(Virtual.SECOND);
        assertThat(held.heldGrant.isDoubted()).isFalse();
        assertThat(virtual.remainingMillis(held)).isEqualTo(8_550);
        assertThat(backend.renewals).isEqualTo(1);
    }

    @Test
    void doubt_isToldOnce_andOfTheRightGrantOnly() {
        Hold held = hold("n");
        Hold other = hold("other");
        virtual.client.entries().suspect(held.heldGrant.grant, "on purpose");
        virtual.client.entries().suspect(held.heldGrant.grant, "again");
        backend.failure = OutageBackend::unreachable;
        virtual.pass(1_000);
        assertThat(reported)
                .filteredOn(event -> event.equals("suspect n"))
                .as("the suspicion, and the first failed renewal")
                .hasSize(2);
        assertThat(other.heldGrant.isDoubted()).isFalse();
        virtual.end(held);
        virtual.client.entries().suspect(held.heldGrant.grant, "after its end");
        virtual.client.entries().lost(held.heldGrant.grant, LossReason.REVOKED, "after its end");
        assertThat(held.state).isEqualTo(Hold.State.RELEASED);
    }

    @Test
    void doubt_isTold_evenIfNothingElseIsHeardOfIt() {
        Hold held = hold("n");
        backend.silent = true;
        virtual.client.entries().suspect(held.heldGrant.grant, "on purpose");
        virtual.pass(1_000);
        assertThat(reported).containsExactly("suspect n");
        virtual.client.entries().suspect(held.heldGrant.grant, "again");
        virtual.pass(1_000);
        assertThat(reported).containsExactly("suspect n");
    }

    @Test
    void loss_ofAnotherOwner_isNotThatOfThisOne() {
        Hold held = hold("n");
        Grant other =
                new Grant(new AcquisitionId("n", OwnerId.random()), held.heldGrant.grant.token() + 1, 15_000, null);
        virtual.client.entries().lost(other, LossReason.REVOKED, "on purpose");
        virtual.client.entries().suspect(other, "on purpose");
        assertThat(held.state).isEqualTo(Hold.State.HELD);
        assertThat(held.heldGrant.isDoubted()).isFalse();
    }

    /** The lease of a dead thread's lock ends as of its last confirmation, not one renewal later. */
    @Test
    void lock_ofAThreadThatHasEnded_isNotRenewedAgain() throws InterruptedException {
        Thread thread = new Thread(() -> virtual.client.lock("n").lock());
        thread.start();
        thread.join();
        virtual.pass(14 * Virtual.SECOND);
        assertThat(backend.renewals).isZero();
        assertThat(reported).isEmpty();
        virtual.pass(Virtual.SECOND);
        assertThat(reported).containsExactly("lost n OWNER_DIED");
    }

    private @Nullable Lease kept;

    @Test
    void lease_ofAThreadThatHasEnded_isKept_butItsLockIsNot() throws InterruptedException {
        Thread thread = new Thread(() -> {
            try {
                kept = virtual.client.lock("lease").acquire();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            virtual.client.lock("lock").lock();
        });
        thread.start();
        thread.join();
        virtual.pass(45 * Virtual.SECOND);
        assertThat(reported).contains("lost lock OWNER_DIED").doesNotContain("lost lease OWNER_DIED");
        assertThat(virtual.client.held()).extracting(usage -> usage.name()).containsExactly("lease");
        assertThat(Objects.requireNonNull(kept).isValid()).isTrue();
    }

    @Test
    void failure_thatComesLate_isTriedAgainAsSoonAsOneThatComesAtOnce() {
        CompletableFuture<List<RenewResult>> answer = backend.renewLate();
        Hold held = hold("n");
        virtual.pass(5 * Virtual.SECOND + 100_000_000);
        assertThat(backend.renewals).isEqualTo(1);

        answer.completeExceptionally(OutageBackend.unreachable());
        virtual.pass(20_000_000);

        assertThat(backend.renewals).isEqualTo(2);
        assertThat(held.heldGrant.failedRenewals()).isEqualTo(0);
    }
}
