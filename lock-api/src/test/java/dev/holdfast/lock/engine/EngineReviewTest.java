package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a review found in the engine's parts, so that it does not come back. */
class EngineReviewTest {

    @Test
    void confirm_sentBeforeTheLatestDoubt_leavesTheDoubt() {
        Contender contender = new Contender("n", InlineBackend.client());
        Grant grant = new Grant(new Acquisition("n", OwnerId.random()), 1, 15_000, null);
        Tenure tenure = new Tenure(contender.holding(), grant, LockOptions.defaults(), 0, new Sent(0, 0), false);
        tenure.doubt(100);
        tenure.doubt(300);

        tenure.confirm(new Sent(200, 0), 400, 15_000, true);
        assertThat(tenure.isDoubted()).isTrue();
        assertThat(tenure.renewDueNanos).as("asked again at once").isEqualTo(400);

        tenure.confirm(new Sent(301, 0), 500, 15_000, true);
        assertThat(tenure.isDoubted()).isFalse();
    }

    @Test
    void effect_thatFails_leavesTheOthersToBeDone() {
        List<String> done = new ArrayList<>();
        Transitions transitions = new Transitions(() -> {});
        transitions.run(() -> {
            transitions.effect(() -> {
                throw new IllegalStateException("on purpose");
            });
            transitions.effect(() -> done.add("next"));
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
}
