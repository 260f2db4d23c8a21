package dev.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.consul.Acquisitions.Sent;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.testkit.BackendDriver;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Which attempts are recorded, for how long, and what an abandonment changes. */
final class AcquisitionsTest {
    private final AcquisitionId id = BackendDriver.newAcquisition("a");
    private final AcquisitionId other = BackendDriver.newAcquisition("a");
    private final ConsulSession session = new ConsulSession("s", 1_000, 0);
    private final ConsulHold hold = new ConsulHold(id, session, 7);
    private final Acquisitions acquisitions = new Acquisitions();

    private Sent send() {
        return Objects.requireNonNull(acquisitions.send(id, session));
    }

    private void assertTraces(int unanswered, ConsulHold held) {
        Acquisitions.Traces traces = acquisitions.traces(id);
        assertThat(traces.unanswered()).hasSize(unanswered);
        assertThat(traces.hold()).isEqualTo(held);
        assertThat(traces.isEmpty()).isEqualTo(unanswered == 0 && held == null);
    }

    @Test
    void call_isRememberedWhileItLasts() {
        assertThat(acquisitions.mayHold(id)).isFalse();
        acquisitions.enter(id);
        acquisitions.enter(other);
        assertThat(acquisitions.size()).isEqualTo(2);
        assertThat(acquisitions.mayHold(id)).as("its only call").isFalse();
        acquisitions.enter(id);
        assertThat(acquisitions.mayHold(id)).as("two at once").isTrue();
        assertThat(acquisitions.mayHold(other)).isFalse();
        acquisitions.leave(id);
        assertThat(acquisitions.mayHold(id)).isFalse();
        acquisitions.leave(id);
        acquisitions.leave(id);
        assertThat(acquisitions.size()).isEqualTo(1);
    }

    @Test
    void attempt_isRememberedUntilItIsAnswered() {
        assertThat(acquisitions.send(id, session)).as("outside of a call").isNull();
        acquisitions.enter(id);
        session.raiseEpoch(5);
        Sent first = send();
        assertThat(first).isEqualTo(new Sent(session, 5));
        session.raiseEpoch(6);
        Sent second = send();
        acquisitions.leave(id);
        assertTraces(2, null);
        assertThat(acquisitions.mayHold(id)).isTrue();
        acquisitions.refused(id, second);
        assertThat(acquisitions.traces(id).unanswered()).containsExactly(first);
        acquisitions.refused(id, first);
        assertThat(acquisitions.size()).isZero();
        acquisitions.refused(id, first);
        assertTraces(0, null);
    }

    @Test
    void grant_isRememberedUntilItHasEnded() {
        acquisitions.enter(id);
        Sent lost = send();
        Sent sent = send();
        assertThat(acquisitions.granted(id, sent, hold)).isTrue();
        acquisitions.leave(id);
        assertTraces(1, hold);
        acquisitions.refused(id, lost);
        assertTraces(0, hold);
        assertThat(acquisitions.mayHold(id)).isTrue();
        assertThat(acquisitions.granted(id, null, hold)).as("found again").isTrue();
        acquisitions.ended(id);
        assertThat(acquisitions.size()).isZero();
        assertThat(acquisitions.granted(id, sent, hold)).as("without a call").isFalse();
        acquisitions.ended(id);
        assertThat(acquisitions.size()).isZero();
    }

    /** A release ends what there is; the same acquisition may ask again. */
    @Test
    void end_withoutAnAbandonment_letsGrantsBeRemembered() {
        acquisitions.enter(id);
        send();
        acquisitions.ended(id);
        assertTraces(0, null);
        assertThat(acquisitions.granted(id, send(), hold)).isTrue();
        assertTraces(0, hold);
    }

    @Test
    void abandonment_letsNothingBeSent_andNothingBeGranted() {
        acquisitions.enter(id);
        Sent sent = send();
        Acquisitions.Traces traces = acquisitions.abandon(id);
        assertThat(traces.unanswered()).containsExactly(sent);
        assertThat(acquisitions.send(id, session)).isNull();
        assertThat(acquisitions.granted(id, sent, hold)).isFalse();
        assertTraces(0, hold); // the abandonment may have to be repeated
        assertThat(acquisitions.traces(other).isEmpty()).isTrue();
        acquisitions.ended(id);
        assertThat(acquisitions.granted(id, sent, hold)).isFalse();
        assertTraces(0, null);
        acquisitions.leave(id);
        assertThat(acquisitions.size()).isZero();
        assertThat(acquisitions.abandon(id).isEmpty()).isTrue();
        assertThat(acquisitions.size()).isZero();
    }
}
