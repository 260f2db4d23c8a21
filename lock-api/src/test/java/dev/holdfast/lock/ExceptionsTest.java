package dev.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Exception messages are one line, whatever text a name or a server contributed, and keep their cause. */
class ExceptionsTest {
    private static final Throwable CAUSE = new IllegalStateException("why");

    @Test
    void message_isOneLine_andTheCauseIsKept() {
        List<BiFunction<String, Throwable, LockException>> withCause = List.of(
                LockException::new,
                LockClosedException::new,
                LockConfigurationException::new,
                LockTimeoutException::new,
                LockUnavailableException::new,
                (message, cause) -> new LeaseLostException(message, LossReason.REVOKED, 7, cause));
        for (BiFunction<String, Throwable, LockException> each : withCause) {
            assertThat(each.apply("a\nb", CAUSE)).hasMessage("a\\nb").hasCause(CAUSE);
        }
        List<Function<String, LockException>> without = List.of(
                LockException::new,
                LockClosedException::new,
                LockConfigurationException::new,
                LockTimeoutException::new,
                LockUnavailableException::new);
        for (Function<String, LockException> each : without) {
            assertThat(each.apply("a\nb")).hasMessage("a\\nb").hasNoCause();
        }
    }

    @Test
    void leaseLost_saysWhyAndWhichToken() {
        LeaseLostException lost = new LeaseLostException("gone", LossReason.MAX_HOLD, 42, null);
        assertThat(lost.reason()).isEqualTo(LossReason.MAX_HOLD);
        assertThat(lost.token()).isEqualTo(42);
    }
}
