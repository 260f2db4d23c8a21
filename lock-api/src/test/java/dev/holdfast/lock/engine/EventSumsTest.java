package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Each grant ends with exactly one event, even if the client is closed before the store has answered. */
class EventSumsTest {
    private final Virtual virtual = new Virtual();
    private final List<String> ends = new ArrayList<>();

    EventSumsTest() {
        virtual.client.addListener(new LockListener() {
            @Override
            public void released(String name, long token, Duration held) {
                ends.add("released " + name + " after " + held.toMillis());
            }

            @Override
            public void lost(String name, long token, Duration held, LossReason reason) {
                ends.add("lost " + name + " after " + held.toMillis() + ": " + reason);
            }
        });
    }

    @Test
    void release_thatHasNoAnswerWhenTheClientIsClosed_isToldOnce() {
        Hold held = virtual.hold("n", LockOptions.defaults());
        virtual.backend.silent = true;
        virtual.pass(Virtual.SECOND);
        virtual.end(held);
        virtual.client.beginClose();
        assertThat(ends).isEmpty();

        virtual.client.endClose(false);
        virtual.pass(60 * Virtual.SECOND);

        assertThat(ends).singleElement().asString().isEqualTo("released n after 1001");
    }

    @Test
    void severalReleases_withoutAnswer_areEachToldOnce() {
        Hold first = virtual.hold("a", LockOptions.defaults());
        Hold second = virtual.hold("b", LockOptions.defaults());
        virtual.backend.silent = true;
        virtual.end(first);
        virtual.pass(Virtual.SECOND / 10);
        virtual.end(second);
        virtual.client.beginClose();
        virtual.client.endClose(false);
        virtual.pass(Virtual.SECOND / 1000);

        assertThat(ends).extracting(end -> end.substring(0, 10)).containsExactlyInAnyOrder("released a", "released b");
    }

    /** The lock stays taken for the rest of that time, without a holder. */
    @Test
    void release_beforeTheEndOfMinHold_isToldAtOnce_andOnce() {
        Hold held = virtual.hold(
                "n", LockOptions.builder().minHold(Duration.ofSeconds(5)).build());
        virtual.pass(Virtual.SECOND);
        virtual.end(held);
        virtual.pass(0);
        assertThat(ends).containsExactly("released n after 1001");
        virtual.pass(10 * Virtual.SECOND);
        assertThat(ends).hasSize(1);
        assertThat(virtual.client.isIdle()).isTrue();
    }

    @Test
    void lost_isToldWithTheTimeUntilItWasNoticed() {
        virtual.hold("n", LockOptions.builder().maxHold(Duration.ofSeconds(3)).build());
        virtual.pass(10 * Virtual.SECOND);

        assertThat(ends).containsExactly("lost n after 3000: MAX_HOLD");
    }

    @Test
    void grantThatTheStoreTookBack_noticedAtRelease_isLostAndNotReleased() {
        Hold held = virtual.hold("n", LockOptions.defaults());
        virtual.pass(Virtual.SECOND);
        virtual.backend.remove("n");
        virtual.end(held);
        virtual.pass(Virtual.SECOND);

        assertThat(ends).containsExactly("lost n after 1001: REVOKED");
    }
}
