package dev.holdfast.lock.recipe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** How long a leadership is valid, and when its lease has to be checked again. */
class TermTest {
    private static final Duration STOP = Duration.ofSeconds(20);

    private final PlannedLease lease = new PlannedLease("n");
    private final AtomicInteger seenInvalid = new AtomicInteger();

    /** The length of the lease as last confirmed; zero if unknown. */
    private Duration length = Duration.ZERO;

    private Term term() {
        return new Term(lease, STOP, lease -> length, seenInvalid::incrementAndGet);
    }

    @Test
    void danger_isWhenOnlyTheTimeToStopIsLeft() {
        Term term = term();
        assertThat(term.nanosUntilDanger()).isEqualTo(Duration.ofSeconds(40).toNanos());

        lease.remaining = STOP;

        assertThat(term.nanosUntilDanger()).isZero();
        assertThat(term.isValid()).as("until its election ends it").isTrue();
        term.end();
        assertThat(term.isValid()).isFalse();
        assertThat(seenInvalid).hasValue(0);
    }

    @Test
    void timeToStop_isHalfOfAShorterLease() {
        lease.remaining = Duration.ofSeconds(30); // the store has granted less than requested
        Term term = term();

        assertThat(term.nanosUntilDanger()).isEqualTo(Duration.ofSeconds(15).toNanos());
    }

    @Test
    void timeToStop_afterARenewal_isHalfOfTheLeaseAsLastConfirmed() {
        length = Duration.ofMinutes(1);
        lease.remaining = Duration.ofSeconds(4); // handed over: it counts from an earlier request
        Term term = term();
        assertThat(term.nanosUntilDanger()).isEqualTo(Duration.ofSeconds(2).toNanos());

        lease.remaining = Duration.ofSeconds(25); // renewed a while ago
        assertThat(term.nanosUntilDanger()).isEqualTo(Duration.ofSeconds(5).toNanos());

        length = Duration.ofSeconds(30); // the store grants less now
        assertThat(term.nanosUntilDanger()).isEqualTo(Duration.ofSeconds(10).toNanos());
    }

    @Test
    void timeToStop_ofALeaseOfUnknownLength_followsItsLongestRemainingTime() {
        lease.remaining = Duration.ofSeconds(4);
        Term term = term();
        lease.remaining = Duration.ofSeconds(50);
        assertThat(term.nanosUntilDanger()).isEqualTo(Duration.ofSeconds(30).toNanos());
    }

    @Test
    void loss_thatTheElectionNotices_completesTheStage() {
        Term term = term();
        term.lose();
        assertThat(term.lost().toCompletableFuture()).isCompletedWithValue(LossReason.EXPIRED);
    }

    @Test
    void leadership_thatWasSeenInvalid_staysSo_thoughItsSessionRecovers() {
        Term term = term();
        lease.valid = false;
        assertThat(term.isValid()).isFalse();
        assertThatThrownBy(() -> term.ensure(STOP)).isInstanceOf(LeaseLostException.class);

        lease.valid = true;

        assertThat(term.isValid()).isFalse();
        assertThat(term.nanosUntilDanger()).isZero();
        assertThat(seenInvalid).hasValue(1);
        assertThatIllegalStateException()
                .isThrownBy(() -> term.ensure(STOP))
                .withMessage("election 'n' (token 7): this leadership has ended; stop writing");
        assertThat(term).hasToString("Leadership[n, token 7, ended]");
    }

    @Test
    void leadership_isItsLease_whileItLasts() {
        Term term = term();
        term.ensure(Duration.ofSeconds(5));
        assertThat(lease.ensured).containsExactly(Duration.ofSeconds(5));
        assertThat(term.token()).isEqualTo(7);
        assertThat(term).hasToString("Leadership[n, token 7]");
        assertThat(term.lost().toCompletableFuture()).isNotDone();

        lease.lost.complete(LossReason.EXPIRED);

        assertThat(term.lost().toCompletableFuture()).isCompletedWithValue(LossReason.EXPIRED);
    }
}
