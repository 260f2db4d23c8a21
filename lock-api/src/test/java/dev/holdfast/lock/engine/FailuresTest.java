package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockUnavailableException;
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
    void call_thatThrowsAnError_isAFailedStage() {
        assertThat(Failures.call(() -> {
                    throw new StackOverflowError("on purpose");
                }))
                .isCompletedExceptionally();
    }
}
