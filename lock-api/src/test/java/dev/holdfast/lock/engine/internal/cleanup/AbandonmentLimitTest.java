package dev.holdfast.lock.engine.internal.cleanup;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class AbandonmentLimitTest {
    private final AbandonmentLimit limit = new AbandonmentLimit();
    private final List<Runnable> sent = new ArrayList<>();

    @Test
    void thousandAtOnce_areSentAFewAtATime_inOrder() {
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            int number = i;
            limit.add("name", answered -> {
                order.add(number);
                sent.add(answered);
            });
        }
        assertThat(sent).hasSize(AbandonmentLimit.MAX_AT_ONCE);
        for (int answered = 0; answered < 1_000; answered++) {
            sent.get(answered).run();
            sent.get(answered).run(); // a second answer changes nothing
            assertThat(sent).hasSize(Math.min(1_000, answered + 1 + AbandonmentLimit.MAX_AT_ONCE));
        }
        assertThat(order).isSorted();
        assertThat(limit.names()).isZero();
    }

    @Test
    void namesWithoutAnswers_delayNoOther() {
        for (int i = 0; i < 1_000; i++) {
            limit.add("stuck", answered -> {});
        }
        limit.add("other", sent::add);
        assertThat(sent).hasSize(1);
        sent.get(0).run();
        assertThat(limit.names()).isEqualTo(1);
    }

    @Test
    void answersAtOnce_needNoStack() {
        for (int i = 0; i < AbandonmentLimit.MAX_AT_ONCE; i++) {
            limit.add("name", sent::add);
        }
        int[] answered = new int[1];
        for (int i = 0; i < 100_000; i++) {
            limit.add("name", done -> {
                answered[0]++;
                done.run();
            });
        }
        sent.get(0).run();
        assertThat(answered[0]).isEqualTo(100_000);
    }

    @Test
    void failureToSend_keepsNoPlace() {
        for (int i = 0; i < 100; i++) {
            limit.add("name", answered -> {
                throw new OutOfMemoryError("on purpose");
            });
        }
        limit.add("name", sent::add);
        assertThat(sent).hasSize(1);
    }
}
