package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.RenewResult;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The requests and results of {@code ensure} for a lease that is short, suspect, lost, or closed. */
@Timeout(30)
class EnsureTest {
    private static final Duration USABLE = Duration.ofNanos(Validity.usableNanos(15_000));

    private final Virtual virtual = new Virtual(LockClientOptions.defaults(), ImpoliteBackend::new);
    private final ImpoliteBackend backend = (ImpoliteBackend) virtual.backend;

    private Lease lease(Hold hold, boolean owning) {
        return new EngineLease(virtual.client.engine(), virtual.client.calls(), hold, owning);
    }

    private Hold hold() {
        return virtual.hold("n", LockOptions.defaults());
    }

    /** One nanosecond more than the remaining time needs a renewal. */
    @ParameterizedTest
    @CsvSource({"-1, 0", "0, 0", "1, 1"})
    void store_isAskedOnlyForMoreThanIsLeft(long more, int renewals) {
        Lease lease = lease(hold(), true);
        virtual.pass(Virtual.SECOND);
        lease.ensure(lease.remaining().plusNanos(more));
        assertThat(backend.renewals).isEqualTo(renewals);
        assertThat(lease.remaining()).isEqualTo(renewals == 0 ? USABLE.minusMillis(1_001) : USABLE);
    }

    @Test
    void doubtedLease_isAskedAbout_evenForNoTimeAtAll() {
        Hold hold = hold();
        Lease lease = lease(hold, true);
        virtual.client.entries().suspect(hold.heldGrant.grant, "on purpose");
        assertThat(lease.isValid()).isFalse();
        assertThat(lease.remaining()).isZero();
        backend.renewResults.add(new RenewResult.Unknown("on purpose", null));
        assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(() -> lease.ensure(Duration.ZERO))
                .withMessageContaining("lock 'n' (token " + lease.token() + "): could not be renewed for PT0S");
        assertThat(backend.renewals).isEqualTo(1);
        lease.ensure(Duration.ZERO);
        assertThat(backend.renewals).isEqualTo(2);
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void leaseThatTheStoreHasNotAnyMore_isLost() {
        Lease lease = lease(hold(), true);
        virtual.pass(Virtual.SECOND);
        backend.renewResults.add(new RenewResult.Lost(LossReason.REVOKED, "on purpose"));
        assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> lease.ensure(USABLE));
        assertThat(backend.renewals).isEqualTo(1);
    }

    /** The timers have not run yet: the lease is valid in its last nanosecond, and invalid after it. */
    @ParameterizedTest
    @CsvSource({"-1, true", "0, false", "1, false"})
    void leaseThatHasEnded_isLost_withoutARequest(long nanosAfter, boolean valid) {
        Lease lease = lease(hold(), true);
        virtual.machine.pause(60 * Virtual.SECOND);
        virtual.pass(lease.remaining().toNanos() + nanosAfter);
        assertThat(lease.isValid()).isEqualTo(valid);
        assertThat(lease.remaining()).isEqualTo(Duration.ofNanos(valid ? 1 : 0));
        if (valid) {
            lease.ensure(Duration.ofNanos(1));
        } else {
            assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> lease.ensure(Duration.ZERO));
        }
        assertThat(backend.renewals).isZero();
    }

    @Test
    void storeThatKeepsShorterLeases_cannotGiveMore() {
        backend.longestMillis = 5_000;
        Lease lease = lease(hold(), true);
        virtual.pass(Virtual.SECOND);
        backend.renewResults.add(new RenewResult.Renewed(5_000));
        lease.ensure(Duration.ofSeconds(4));
        assertThat(backend.renewals).isEqualTo(1);
        virtual.pass(Virtual.SECOND);
        backend.renewResults.add(new RenewResult.Renewed(5_000));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> lease.ensure(Duration.ofSeconds(6)))
                .withMessageContaining("a lease of 5000 ms can be relied upon for");
        assertThat(backend.renewals).isEqualTo(2);
    }

    @Test
    void closedLease_isToldSo_withoutARequest() {
        Hold hold = hold();
        Lease lease = lease(hold, true);
        Lease view = lease(hold, false);
        lease.close();
        for (Lease each : new Lease[] {lease, view}) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> each.ensure(Duration.ZERO))
                    .withMessageContaining("'n'");
            assertThat(each.isValid()).isFalse();
            assertThat(each.remaining()).isZero();
        }
        assertThat(backend.renewals).isZero();
        assertThat(backend.isHeld("n")).isFalse();
    }

    @Test
    void loss_isOneStage_whichIsDoneWhenTheLeaseIsLost() {
        Hold hold = hold();
        Lease lease = lease(hold, true);
        CompletionStage<LossReason> lost = lease.lost();
        assertThat(lease.lost() == lost).as("the same one").isTrue();
        assertThat(lost.toCompletableFuture()).isNotDone();
        virtual.client.entries().lost(hold.heldGrant.grant, LossReason.REVOKED, "on purpose");
        virtual.pass(0);
        assertThat(lost.toCompletableFuture()).isCompletedWithValue(LossReason.REVOKED);
    }

    @Test
    void holdThatEndsBefore_isNotEnsured() {
        Hold hold = virtual.hold(
                "n", LockOptions.builder().maxHold(Duration.ofSeconds(5)).build());
        Lease lease = lease(hold, true);
        virtual.pass(Virtual.SECOND - 1_000_000);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> lease.ensure(Duration.ofSeconds(6)))
                .withMessage("lock 'n': cannot ensure PT6S, its maxHold ends in 4.0 s; set a longer maxHold");
        lease.ensure(Duration.ofSeconds(4));
    }
}
