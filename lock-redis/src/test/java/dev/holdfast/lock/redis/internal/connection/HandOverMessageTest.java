package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages, without a server: what hands the lock over, what is a call only, and who receives it. */
final class HandOverMessageTest {
    private final RedisWaiters waiters = new RedisWaiters();
    private final List<String> told = new ArrayList<>();

    private void expect(long generation) {
        waiters.expect("a1", generation, (token, leaseMillis) -> told.add("handed " + token + " " + leaseMillis));
    }

    @Test
    void messageAboutTheLatestAttempt_handsOver() {
        expect(1);
        expect(2);
        waiters.listen("a1", () -> told.add("called"));
        waiters.message("a1 2 77 2000 p:{n}");
        assertThat(told).containsExactly("handed 77 2000");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "a1",
                "a1 1 77 2000 p:{n}",
                "a1 2 x 2000 p:{n}",
                "a1 2 77 y p:{n}",
                "a1 2 0 2000 p:{n}",
                "a1 2 77 -5 p:{n}",
                "a1 2 77 99999999999999999 p:{n}",
                "a1 2 9007199254740992 2000 p:{n}",
                "a1 2 77 2000 more p:{n}"
            })
    void anythingElse_isACall(String message) {
        expect(2);
        waiters.listen("a1", () -> told.add("called"));
        waiters.message(message);
        assertThat(told).containsExactly("called");
    }

    /** An attempt that takes nothing over is the latest: an older message makes its waiter ask. */
    @Test
    void laterAttemptThatTakesNothingOver_leavesACall() {
        expect(1);
        waiters.listen("a1", () -> told.add("called"));
        waiters.expect("a1");
        waiters.message("a1 1 77 2000 p:{n}");
        assertThat(told).containsExactly("called");
    }

    @Test
    void listenerThatCameInAnothersPlace_staysWhenTheFormerCloses() {
        Runnable same = () -> told.add("called");
        var former = waiters.listen("a1", same);
        waiters.listen("a1", same);
        former.close();
        waiters.message("a1");
        assertThat(told).containsExactly("called");
    }

    @Test
    void lockForAnOwnerThatDoesNotWait_isGivenBack_aCallIsNot() {
        String owner = "00112233445566778899aabbccddeeff";
        waiters.message(owner + " 7 77 2000 p:{n}");
        waiters.onUnwanted((key, ended, generation) -> told.add(key + " of " + ended + " after " + generation));
        waiters.message(owner);
        waiters.message(owner + " 7 77 2000");
        waiters.message("b2 7 77 2000 p:{n}");
        assertThat(told).isEmpty();
        waiters.message(owner + " 7 77 2000 p:{n}");
        assertThat(told).containsExactly("p:{n} of " + owner + " after 7");
    }

    @Test
    void unknownOwner_isNobodys() {
        waiters.message("b2 1 77 2000 p:{n}");
        assertThat(waiters.knows("b2")).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a1 2 9007199254740991 9999999999999999 p:{n}", "a1 2 1 1 p:{n}"})
    void greatestAndLeastNumbers_handOver(String message) {
        expect(2);
        waiters.message(message);
        assertThat(told).containsExactly("handed " + message.substring(5).replace(" p:{n}", ""));
    }

    /** Between the answer that it waits and its listening. */
    @Test
    void callBeforeAnybodyListens_isKept_andDeliveredOnce() {
        waiters.expect("a1");
        waiters.message("a1");
        waiters.message("a1");
        waiters.expect("a1");
        waiters.listen("a1", () -> told.add("called"));
        waiters.listen("a1", () -> told.add("called again"));
        assertThat(told).containsExactly("called");
    }

    @Test
    void heard_isWhatHasComeSinceTheLastTime_aHandOverAsWell() {
        assertThat(waiters.takeHeard("a1")).isFalse();
        expect(1);
        assertThat(waiters.takeHeard("a1")).isFalse();
        waiters.message("a1");
        assertThat(waiters.takeHeard("a1")).isTrue();
        assertThat(waiters.takeHeard("a1")).isFalse();
        waiters.message("a1 1 77 2000 p:{n}");
        assertThat(waiters.takeHeard("a1")).isTrue();
        waiters.callAll();
        assertThat(waiters.takeHeard("a1")).isTrue();
    }

    @Test
    void allAreCalled_orOne_orNobody() {
        for (String owner : List.of("a1", "b2")) {
            waiters.listen(owner, () -> told.add(owner));
        }
        waiters.callAll();
        assertThat(told).containsExactlyInAnyOrder("a1", "b2");
        waiters.call("b2");
        waiters.call("c3");
        assertThat(told).hasSize(3).endsWith("b2");
    }

    @Test
    void forgotten_isNotCalled_unlessItListens() {
        waiters.expect("a1");
        waiters.listen("b2", () -> told.add("b2"));
        waiters.forgetUnlessListened("a1");
        waiters.forgetUnlessListened("b2");
        waiters.forgetUnlessListened("c3");
        assertThat(waiters.knows("a1")).isFalse();
        assertThat(waiters.knows("b2")).isTrue();
        assertThat(waiters.size()).isEqualTo(1);
        waiters.forget("b2");
        waiters.message("b2");
        assertThat(told).isEmpty();
    }

    /** Its call is another acquisition's, or a later one's. */
    @Test
    void listenerThatCloses_isForgotten_withTheCallThatItDidNotHear() {
        waiters.listen("a1", () -> told.add("called")).close();
        assertThat(waiters.size()).isZero();
        var first = waiters.listen("a1", () -> told.add("first"));
        waiters.forget("a1");
        waiters.listen("a1", () -> told.add("second"));
        first.close();
        waiters.message("a1");
        assertThat(told).containsExactly("second");
    }
}
