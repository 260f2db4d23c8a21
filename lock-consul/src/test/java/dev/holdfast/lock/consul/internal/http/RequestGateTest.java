package dev.holdfast.lock.consul.internal.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class RequestGateTest {

    @Test
    void full_othersWaitInOrder() {
        RequestGate gate = new RequestGate(2);
        List<Integer> begun = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            int number = i;
            gate.enter(false, () -> begun.add(number));
        }
        assertThat(begun).containsExactly(0, 1);
        assertThat(gate.tryEnter()).isFalse();
        gate.leave();
        assertThat(begun).containsExactly(0, 1, 2);
        for (int i = 0; i < 4; i++) {
            gate.leave();
        }
        assertThat(begun).containsExactly(0, 1, 2, 3, 4);
        assertThat(gate.tryEnter()).isTrue();
        assertThat(gate.tryEnter()).isTrue();
        assertThat(gate.tryEnter()).isFalse();
    }

    /** After an outage, all waiting requests may be overdue. */
    @Test
    void manyOutOfTime_areLeftOut() {
        RequestGate gate = new RequestGate(1);
        AtomicInteger asked = new AtomicInteger();
        gate.enter(false, () -> true);
        for (int i = 0; i < 100_000; i++) {
            gate.enter(false, () -> {
                asked.incrementAndGet();
                return false;
            });
        }
        gate.leave();
        assertThat(asked).hasValue(100_000);
        assertThat(gate.tryEnter()).isTrue();
    }

    @Test
    void goingFirst_isBeforeAllThatWait() {
        RequestGate gate = new RequestGate(1);
        List<String> begun = new ArrayList<>();
        gate.enter(false, () -> true);
        for (int i = 0; i < 3; i++) {
            gate.enter(false, () -> begun.add("acquire"));
        }
        gate.enter(true, () -> begun.add("renew"));
        gate.enter(true, () -> begun.add("release"));
        for (int i = 0; i < 3; i++) {
            gate.leave();
        }
        assertThat(begun).containsExactly("renew", "release", "acquire");
    }

    /** A request may end while it starts. */
    @Test
    void manyThatLeaveWhileTheyBegin_areNoRecursion() {
        RequestGate gate = new RequestGate(1);
        AtomicInteger begun = new AtomicInteger();
        gate.enter(false, () -> true);
        for (int i = 0; i < 100_000; i++) {
            gate.enter(false, () -> {
                begun.incrementAndGet();
                gate.leave();
                return true;
            });
        }
        gate.leave();
        assertThat(begun).hasValue(100_000);
        assertThat(gate.tryEnter()).isTrue();
        assertThat(gate.tryEnter()).isFalse();
    }

    /** A failing request must not keep its permit. */
    @Test
    void requestThatThrows_isOutAgain() {
        RequestGate gate = new RequestGate(1);
        List<String> begun = new ArrayList<>();
        gate.enter(false, () -> {
            throw new IllegalStateException("a fault");
        });
        gate.enter(false, () -> begun.add("next"));
        assertThat(begun).containsExactly("next");
        gate.leave();
        gate.enter(true, () -> {
            throw new IllegalStateException("a fault");
        });
        assertThat(gate.tryEnter()).isTrue();
        assertThat(gate.tryEnter()).isFalse();
        gate.enter(false, () -> begun.add("waits"));
        assertThat(begun).containsExactly("next");
        gate.leave();
        assertThat(begun).containsExactly("next", "waits");
    }

    /** Without memory for one request, the others must be sent, above all the renewals. */
    @Test
    void requestThatEndsWithAnError_isOutAgain() {
        RequestGate gate = new RequestGate(1);
        List<String> begun = new ArrayList<>();
        gate.enter(false, () -> true);
        gate.enter(false, () -> {
            throw new InternalError("by the test");
        });
        gate.enter(false, () -> begun.add("next"));

        gate.leave();

        assertThat(begun).containsExactly("next");
        gate.leave();
        assertThat(gate.tryEnter()).isTrue();
        assertThat(gate.tryEnter()).isFalse();
    }
}
