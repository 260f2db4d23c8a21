package dev.holdfast.lock.engine.internal.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

class FailuresTest {
    @Test
    void of_backendsMessage_isGivenTheLock() {
        assertThat(Failures.of("a", new CompletionException(new LockUnavailableException("no answer from it"))))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("lock 'a': no answer from it");
    }

    @Test
    void of_nameThatForgesALine_staysInItsLine() {
        String name = "a'\n10:00 WARN forged\u001b[2K\u202e";
        String shown = "lock 'a'\\n10:00 WARN forged\\u001b[2K\\u202e'";

        assertThat(Failures.of(name, new LockUnavailableException("no\nanswer")))
                .hasMessage(shown + ": no\\nanswer");
        assertThat(Failures.of(name, new IllegalStateException("bug\r\n")))
                .message()
                .startsWith(shown)
                .hasLineCount(1);
        assertThat(Failures.notHeld(name, Thread.currentThread())).message().startsWith(shown);
        assertThat(Failures.closed(name)).message().startsWith(shown);
    }

    @Test
    void of_everyKind_staysItsKind_andKeepsItsCause() {
        List<LockException> known = List.of(
                new LockUnavailableException("x"),
                new LockConfigurationException("x"),
                new LockClosedException("x"),
                new LeaseLostException("x", LossReason.MAX_HOLD, 7, null),
                new LockException("x"));
        for (LockException each : known) {
            assertThat(Failures.of("a", each))
                    .isExactlyInstanceOf(each.getClass())
                    .hasMessage("lock 'a': x")
                    .hasCause(each);
            assertThat(Failures.here(each))
                    .isExactlyInstanceOf(each.getClass())
                    .isNotSameAs(each)
                    .hasMessage("x")
                    .hasCause(each);
        }
        LeaseLostException lost = (LeaseLostException) Failures.here(known.get(3));
        assertThat(lost.reason()).isEqualTo(LossReason.MAX_HOLD);
        assertThat(lost.token()).isEqualTo(7);
        assertThat(Failures.of("a", null))
                .hasMessageContaining("failed unexpectedly: no answer")
                .hasNoCause();
    }

    @Test
    void messages_sayWhatHappenedAndWhatToDo() {
        Thread thread = new Thread(() -> {}, "worker-1");
        Map<RuntimeException, String> messages = Map.ofEntries(
                Map.entry(
                        Failures.stalled("a", 1_500_000_000), "lock 'a': the store did not answer within 1.5 s; check"),
                Map.entry(
                        Failures.grantedTooLate("a", 2_000_000_000, 1_000),
                        "lock 'a': the store took 2.0 s to grant a lease of 1000 ms, which has expired meanwhile"),
                Map.entry(Failures.inDoubt("a", 7), "lock 'a' (token 7): held, but in doubt"),
                Map.entry(
                        Failures.noThread("a", new IllegalStateException("full")),
                        "lock 'a': no thread could be started to call the store: java.lang.IllegalStateException: full"),
                Map.entry(Failures.notHeld("a", thread), "lock 'a': thread 'worker-1' has no lock() hold to unlock"),
                Map.entry(
                        Failures.waitsForItself("a", 7, thread),
                        "lock 'a' (token 7): thread 'worker-1' holds it by lock() and requests a lease"),
                Map.entry(
                        Failures.readsAlready("a", 7, thread),
                        "lock 'a' (token 7): thread 'worker-1' holds the read lock and requests the write lock"),
                Map.entry(
                        Failures.otherLimit("a", new Demand.Permits(1, 2), 3),
                        "lock 'a': requested 1 of 2 permits, but the store has a limit of 3"),
                Map.entry(
                        Failures.notTheLimit("a", 1, 2, 3),
                        "lock 'a': cannot change the limit from 1 to 2: the store's limit is 3"),
                Map.entry(Failures.ended("a", 7), "lock 'a' (token 7): this hold has ended; acquire the lock again"),
                Map.entry(Failures.closed("a"), "lock 'a': the client is closed; connect a new one"));
        messages.forEach((failure, message) -> assertThat(failure).hasMessageStartingWith(message));
        assertThat(Failures.noThread("a", new IllegalStateException("full")))
                .hasCauseInstanceOf(IllegalStateException.class);
    }

    @Test
    void named_isTheValue_orRefusedByName() {
        assertThat(Failures.<String>named("a", () -> "value")).isEqualTo("value");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Failures.named("a", () -> {
                    throw new IllegalArgumentException("too large");
                }))
                .withMessage("lock 'a': too large");
    }
}
