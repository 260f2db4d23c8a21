package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.OwnerId;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** When the row of an acquisition may be removed by something else than its release. */
final class AttemptsUnderWayTest {
    private final AttemptsUnderWay underWay = new AttemptsUnderWay();
    private final OwnerId owner = OwnerId.random();

    @Test
    void releasing_anAttemptUnderWay_undoesNothing() {
        underWay.begin(owner);
        underWay.releasing(owner);
        assertThat(underWay.isEnded(owner)).as("undoes what it did").isFalse();
        assertThat(underWay.end(owner, true)).as("removed behind the attempt").isFalse();
        assertThat(underWay.ended(owner)).as("removed behind the release").isTrue();
    }

    @Test
    void releaseAnswered_anAttemptUnderWay_undoesWhatItDid() {
        underWay.begin(owner);
        underWay.releasing(owner);
        underWay.ended(owner);
        assertThat(underWay.isEnded(owner)).isTrue();
        assertThat(underWay.end(owner, true)).isTrue();
    }

    @Test
    void releaseFailed_staysReleasing_untilItIsRepeated() {
        underWay.begin(owner);
        underWay.end(owner, false);
        underWay.releasing(owner);
        underWay.begin(owner);
        assertThat(underWay.isEnded(owner)).isFalse();
        underWay.end(owner, true);
        underWay.releasing(owner);
        assertThat(underWay.ended(owner)).isTrue();
        assertThat(underWay.ended(owner)).as("it is forgotten").isFalse();
    }

    /** The one without an answer may still be committed, whatever the next one found. */
    @Test
    void attemptWithoutAnAnswer_anotherOneIsAnswered_isStillLookedFor() {
        underWay.begin(owner);
        underWay.end(owner, false);
        underWay.begin(owner);
        assertThat(underWay.end(owner, true)).isFalse();
        assertThat(underWay.ended(owner)).as("removed behind the abandonment").isTrue();
    }

    @Test
    void abandoned_whileReleasing_isEnded() {
        underWay.begin(owner);
        underWay.releasing(owner);
        underWay.ended(owner);
        underWay.releasing(owner);
        assertThat(underWay.isEnded(owner)).isTrue();
    }

    @Test
    void nothingUnderWay_nothingIsKnown() {
        underWay.releasing(owner);
        assertThat(underWay.isEnded(owner)).isFalse();
        assertThat(underWay.end(owner, true)).isFalse();
        assertThat(underWay.ended(owner)).isFalse();
        underWay.begin(owner);
        underWay.end(owner, true);
        assertThat(underWay.ended(owner)).as("answered, and so over").isFalse();
        assertThat(underWay.isEnded(owner)).isFalse();
    }

    /** The engine sends another one when an answer is late: each of them undoes what it did. */
    @Test
    void twoAttempts_abandonedBetween_bothLearnOfIt() {
        underWay.begin(owner);
        underWay.begin(owner);
        assertThat(underWay.end(owner, true)).isFalse();
        assertThat(underWay.ended(owner)).as("the other one may be answered").isFalse();
        assertThat(underWay.isEnded(owner)).isTrue();
        assertThat(underWay.end(owner, false)).isTrue();
        assertThat(underWay.isEnded(owner)).as("forgotten with the last").isFalse();
    }

    /** Above the bound, old attempts without an answer are removed, but neither recent nor running ones. */
    @Test
    void manyWithoutAnAnswer_thoseOfNowAreKept() {
        OwnerId active = OwnerId.random();
        underWay.begin(active);
        underWay.begin(owner);
        underWay.end(owner, false);
        for (int i = 0; i < 1_100; i++) {
            OwnerId other = OwnerId.random();
            underWay.begin(other);
            underWay.end(other, false);
        }
        assertThat(underWay.ended(owner)).as("removed behind the abandonment").isTrue();
        underWay.ended(active);
        assertThat(underWay.isEnded(active)).isTrue();
    }

    /** Entries without a release or an abandonment, such as those of a closed client: memory is bounded. */
    @Test
    void manyWithoutAnAnswer_theOldAreForgotten() {
        AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1);
        AttemptsUnderWay many = new AttemptsUnderWay(nanos::get);
        List<OwnerId> old = unanswered(many, 1_000);
        many.begin(owner);
        nanos.addAndGet(TimeUnit.MINUTES.toNanos(10));
        List<OwnerId> later = unanswered(many, 1);
        assertThat(later).as("not yet").allMatch(many::ended);
        nanos.incrementAndGet();
        many.begin(OwnerId.random());
        assertThat(old).as("forgotten").noneMatch(many::ended);
        many.ended(owner);
        assertThat(many.isEnded(owner)).as("which is still in flight").isTrue();
    }

    @Test
    void fewWithoutAnAnswer_areKept() {
        AtomicLong nanos = new AtomicLong();
        AttemptsUnderWay few = new AttemptsUnderWay(nanos::get);
        List<OwnerId> old = unanswered(few, 1_000);
        nanos.addAndGet(TimeUnit.HOURS.toNanos(1));
        few.begin(owner);
        assertThat(old).allMatch(few::ended);
    }

    private static List<OwnerId> unanswered(AttemptsUnderWay attempts, int count) {
        List<OwnerId> owners = Stream.generate(OwnerId::random).limit(count).toList();
        for (OwnerId each : owners) {
            attempts.begin(each);
            attempts.end(each, false);
        }
        return owners;
    }
}
