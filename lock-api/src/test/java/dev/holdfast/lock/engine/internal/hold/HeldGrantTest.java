package dev.holdfast.lock.engine.internal.hold;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.client.InlineBackend;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.runtime.Durations;
import dev.holdfast.lock.engine.internal.runtime.RequestTime;
import dev.holdfast.lock.engine.internal.runtime.Ticker;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The validity of a grant. Times are milliseconds after the request was sent. */
class HeldGrantTest {
    private static final long MILLI = 1_000_000;

    private record At(long millis) implements Ticker {
        @Override
        public long nanos() {
            return millis * MILLI;
        }

        @Override
        public long wallMillis() {
            return millis;
        }
    }

    private static RequestTime sent(long millis) {
        return new RequestTime(millis * MILLI, millis);
    }

    private static LockEntry entry() {
        EngineClient client = InlineBackend.client();
        return new LockEntry("n", client.engine(), client.entries());
    }

    private static HeldGrant granted(long millis, LockOptions options) {
        Grant grant = new Grant(new AcquisitionId("n", OwnerId.random()), 3, millis, null);
        return new HeldGrant(entry().heldLock(), grant, options, 20 * MILLI, sent(0), false);
    }

    private static HeldGrant granted() {
        return granted(15_000, LockOptions.defaults());
    }

    private static long remaining(HeldGrant heldGrant, long millis) {
        return heldGrant.remainingNanos(new At(millis)) / MILLI;
    }

    @ParameterizedTest
    @CsvSource({
        "15000, 14550, 5000",
        "5000, 4850, 1666", // the store grants a shorter lease than requested
        "60000, 14550, 5000" // no longer than requested, whatever the store reports
    })
    void grant_isReliedUponAndRenewedByWhatTheStoreKeeps(long granted, long remaining, long due) {
        HeldGrant heldGrant = granted(granted, LockOptions.defaults());
        assertThat(remaining(heldGrant, 0)).isEqualTo(remaining);
        assertThat(heldGrant.renewDueNanos / MILLI).as("first renewal").isEqualTo(due);
        assertThat(heldGrant.confirmedMillis()).isEqualTo(Math.min(15_000, granted));
        assertThat(heldGrant.leaseMillis()).isEqualTo(15_000);
    }

    @ParameterizedTest
    @CsvSource({
        // renewed at 5 s for this long: end, next renewal, confirmed time
        "15000, 19550, 10000, 15000",
        "60000, 19550, 10000, 15000",
        "10000, 14700, 8333, 10000",
        "6000, 14550, 7000, 6000" // the earlier confirmation reaches further
    })
    void renewal_extendsToTheLaterEnd(long renewed, long end, long due, long confirmed) {
        HeldGrant heldGrant = granted();
        heldGrant.failedRenewals = 2;
        heldGrant.confirm(sent(5_000), 5_100 * MILLI, renewed, true);
        assertThat(5_200 + remaining(heldGrant, 5_200)).isEqualTo(end);
        assertThat(heldGrant.renewDueNanos / MILLI).isEqualTo(due);
        assertThat(heldGrant.confirmedMillis()).isEqualTo(confirmed);
        assertThat(heldGrant.failedRenewals()).isEqualTo(0);
        assertThat(heldGrant.lastConfirmed(5_500 * MILLI))
                .contains("500 ms ago (lease " + Durations.text(confirmed * MILLI) + ")");
    }

    @Test
    void confirmation_ofAFixedLease_doesNotExtendIt() {
        HeldGrant heldGrant =
                granted(15_000, LockOptions.builder().renewal(Renewal.NONE).build());
        assertThat(heldGrant.autoRenew).isFalse();
        heldGrant.doubt(1_000 * MILLI);
        heldGrant.confirm(sent(5_000), 5_000 * MILLI, 15_000, false);
        assertThat(heldGrant.isDoubted()).isFalse();
        assertThat(remaining(heldGrant, 6_000)).isEqualTo(8_550);
        assertThat(heldGrant.confirmedMillis()).isEqualTo(15_000);
    }

    @Test
    void doubt_endsWithARequestThatWasSentNoEarlier() {
        HeldGrant heldGrant = granted();
        heldGrant.doubt(4_000 * MILLI);
        assertThat(heldGrant.renewDueNanos).as("sent immediately").isEqualTo(4_000 * MILLI);
        heldGrant.confirm(sent(3_999), 4_001 * MILLI, 15_000, true);
        assertThat(heldGrant.isDoubted()).isTrue();
        heldGrant.confirm(sent(4_000), 4_002 * MILLI, 15_000, true);
        assertThat(heldGrant.isDoubted()).isFalse();
    }

    @Test
    void confirm_sentBeforeTheLatestDoubt_leavesTheDoubt() {
        HeldGrant heldGrant = granted();
        heldGrant.doubt(100 * MILLI);
        heldGrant.doubt(300 * MILLI);
        heldGrant.failedRenewals = 1;

        heldGrant.confirm(sent(200), 400 * MILLI, 15_000, true);
        assertThat(heldGrant.failedRenewals()).as("the store answers").isEqualTo(0);
        assertThat(heldGrant.isDoubted()).isTrue();
        assertThat(heldGrant.renewDueNanos).as("sent again immediately").isEqualTo(400 * MILLI);

        heldGrant.confirm(sent(301), 500 * MILLI, 15_000, true);
        assertThat(heldGrant.isDoubted()).isFalse();
    }

    @Test
    void token_countsGrantsAndHandOffs() {
        HeldGrant heldGrant = granted();
        assertThat(heldGrant.token()).isEqualTo(3 * 1024);
        heldGrant.handOffs++;
        assertThat(heldGrant.token()).isEqualTo(3 * 1024 + 1);
    }

    private static Hold begin(HeldGrant heldGrant, LockOptions options, long millis) {
        heldGrant.beginHold(options, millis * MILLI);
        return new Hold(heldGrant, entry().holds(), millis * MILLI, Thread.currentThread(), false, true);
    }

    @Test
    void maxHold_countsFromTheHold_notFromTheGrant() {
        LockOptions bounded =
                LockOptions.builder().maxHold(Duration.ofSeconds(1)).build();
        HeldGrant heldGrant = granted(15_000, bounded);
        begin(heldGrant, bounded, 0);
        begin(heldGrant, bounded, 300);
        assertThat(remaining(heldGrant, 300)).isEqualTo(1_000);
        assertThat(remaining(heldGrant, 1_300)).isZero();

        begin(heldGrant, LockOptions.defaults(), 400);
        assertThat(remaining(heldGrant, 400)).as("of one without").isEqualTo(14_150);
    }

    @Test
    void maxHold_doesNotExtendALease() {
        LockOptions bounded =
                LockOptions.builder().maxHold(Duration.ofMinutes(1)).build();
        HeldGrant heldGrant = granted(15_000, bounded);
        begin(heldGrant, bounded, 0);
        assertThat(remaining(heldGrant, 0)).isEqualTo(14_550);
    }

    @Test
    void minHold_countsFromTheHold() {
        LockOptions lasting =
                LockOptions.builder().minHold(Duration.ofSeconds(2)).build();
        HeldGrant heldGrant = granted(15_000, lasting);
        begin(heldGrant, lasting, 500);
        assertThat(heldGrant.minHoldLeftNanos(1_000 * MILLI)).isEqualTo(1_500 * MILLI);
        begin(heldGrant, LockOptions.defaults(), 500);
        assertThat(heldGrant.minHoldLeftNanos(1_000 * MILLI)).isZero();
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {"999, -, EXPIRED", "1000, -, MAX_HOLD", "999, OWNER_DIED, OWNER_DIED", "1001, OWNER_DIED, MAX_HOLD"
            })
    void end_isCalledByItsCause(long millis, @Nullable LossReason decided, LossReason reason) {
        LockOptions bounded =
                LockOptions.builder().maxHold(Duration.ofSeconds(1)).build();
        HeldGrant heldGrant = granted(15_000, bounded);
        begin(heldGrant, bounded, 0);
        heldGrant.abandonedBecause = decided;
        assertThat(heldGrant.reasonOfEnd(millis * MILLI)).isEqualTo(reason);
    }

    @Test
    void hold_isOfTheThreadOrOfTheLease() throws InterruptedException {
        HeldGrant heldGrant = granted();
        Thread here = Thread.currentThread();
        Thread other = new Thread(() -> {});
        Hold ofThread = new Hold(heldGrant, entry().holds(), 0, here, true, false);
        Hold ofLease = begin(heldGrant, LockOptions.defaults(), 0);

        assertThat(ofThread.isOwnedBy(here)).isTrue();
        assertThat(ofThread.isOwnedBy(other)).isFalse();
        assertThat(ofThread.isOwnedBy(null)).isFalse();
        assertThat(ofThread.isAskedForBy(here)).isTrue();
        assertThat(ofThread.isAskedForAsync()).isFalse();
        assertThat(ofThread.ownerThread()).isSameAs(here);
        assertThat(ofLease.isOwnedBy(here)).isFalse();
        assertThat(ofLease.isAskedForBy(here)).isTrue();
        assertThat(ofLease.isAskedForBy(other)).isFalse();
        assertThat(ofLease.isAskedForAsync()).isTrue();
        assertThat(ofLease.ownerThread()).isNull();
        assertThat(ofLease.requesterName()).contains(here.getName());
    }

    @Test
    void loss_isToldToThoseWhoAskedBeforeAndAfter() {
        Hold hold = begin(granted(), LockOptions.defaults(), 0);
        CompletableFuture<LossReason> before = hold.lost();
        assertThat(before).isNotDone();
        hold.lose(LossReason.REVOKED, "on purpose");
        assertThat(hold.presentLost()).isSameAs(before);
        assertThat(hold.lost()).isSameAs(before);
        assertThat(hold.lostException()).hasMessageContaining("REVOKED").hasMessageContaining("on purpose");

        Hold late = begin(granted(), LockOptions.defaults(), 0);
        late.lose(LossReason.EXPIRED, "on purpose");
        assertThat(late.lost()).isCompletedWithValue(LossReason.EXPIRED);
    }

    /** Times are milliseconds after the request was sent, 20 before it was granted. */
    @ParameterizedTest
    @CsvSource({
        "15000, 119, nothing, true",
        "15000, 121, nothing, false",
        "15000, 30, doubted, false",
        "15000, 30, a renewal failed, false",
        "15000, 30, the owner died, false",
        "100, 55, nothing, true", // of 89 ms
        "100, 56, nothing, false" // a third of the lease
    })
    void grant_mayBeJoined_soonAndWhileItIsSound(long leaseMillis, long millis, String happened, boolean joined) {
        HeldGrant heldGrant = granted(leaseMillis, LockOptions.defaults());
        switch (happened) {
            case "doubted" -> heldGrant.doubt(25 * MILLI);
            case "a renewal failed" -> heldGrant.failedRenewals = 1;
            case "the owner died" -> heldGrant.abandonedBecause = LossReason.OWNER_DIED;
            default -> {}
        }
        assertThat(heldGrant.mayBeJoined(new At(millis))).isEqualTo(joined);
    }
}
