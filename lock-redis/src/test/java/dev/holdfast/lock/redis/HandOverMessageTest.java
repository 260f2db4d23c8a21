package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages, without a server: what hands the lock over, what is a call only, and who hears it. */
final class HandOverMessageTest {
    private final RedisWaiters waiters = new RedisWaiters();
    private final List<String> told = new ArrayList<>();

    private void expect(long round) {
        waiters.expect("a1", round, (token, leaseMillis) -> told.add("handed " + token + " " + leaseMillis));
    }

    @Test
    void messageAboutTheLatestAttempt_handsOver() {
        expect(1);
        expect(2);
        waiters.listen("a1", () -> told.add("called"));
        waiters.message("a1 2 77 2000");
        assertThat(told).containsExactly("handed 77 2000");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "a1",
                "a1 1 77 2000",
                "a1 2 x 2000",
                "a1 2 77 y",
                "a1 2 0 2000",
                "a1 2 77 -5",
                "a1 2 77 99999",
                "a1 2 9007199254740992 2000",
                "a1 2 77 2000 more"
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
        waiters.message("a1 1 77 2000");
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
    void unknownOwner_isNobodys() {
        waiters.message("b2 1 77 2000");
        assertThat(waiters.knows("b2")).isFalse();
    }
}
