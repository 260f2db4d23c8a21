package dev.holdfast.lock.etcd.internal.client;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Which revisions show that a store has other data. */
final class StoreHistoryTest {
    private final StoreHistory history = new StoreHistory();

    @Test
    void lowerRevision_inTheAnswerToALaterRequest_beginsAnotherHistory() {
        assertThat(history.answered(history.now(), 100)).isFalse();
        StoreHistory.Sent later = history.now();

        assertThat(history.answered(later, 7)).isTrue();

        assertThat(history.now()).isEqualTo(new StoreHistory.Sent(1, 7));
        assertThat(history.answered(later, 8)).as("once").isFalse();
        assertThat(history.answered(history.now(), 7)).isFalse();
    }

    /** Answers overtake each other. */
    @Test
    void lowerRevision_inTheAnswerToAnEarlierRequest_isNormal() {
        StoreHistory.Sent earlier = history.now();
        history.answered(history.now(), 100);

        assertThat(history.answered(earlier, 99)).isFalse();

        assertThat(history.now()).isEqualTo(new StoreHistory.Sent(0, 100));
    }

    @Test
    void lateAnswer_ofAnEarlierHistory_changesNothing() {
        history.answered(history.now(), 100);
        StoreHistory.Sent before = history.now();
        history.answered(before, 7);

        assertThat(history.answered(before, 101)).isFalse();

        assertThat(history.now()).isEqualTo(new StoreHistory.Sent(1, 7));
    }
}
