package dev.holdfast.lock.spi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.nio.channels.UnresolvedAddressException;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

final class FailureTranslatorTest {
    private static final IllegalStateException OURS = new IllegalStateException("a bug");

    private final FailureTranslator translator = new FailureTranslator("Store", cause -> {
        if (cause instanceof SecurityException) {
            return new Remedy.Configuration("Store says '" + cause.getMessage() + "'", "ask for the permission");
        }
        if (cause instanceof ArithmeticException) {
            throw new IllegalArgumentException("the function fails");
        }
        if (cause == OURS) {
            return new Remedy.PassThrough(OURS);
        }
        return cause instanceof IOException ? new Remedy.Unavailable("the line is cut", "fix it") : null;
    });

    @Test
    void translate_remedy_isTheMessagesEnd() {
        IOException cut = new IOException();
        assertThat(translator.translate("release", new ExecutionException(new CompletionException(cut))))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("release: the line is cut; fix it")
                .hasCause(cut);
        assertThat(translator.translate("", new SecurityException("no")))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage("Store says 'no'; ask for the permission");
    }

    @Test
    void translate_whatNobodyKnows_isUnavailable() {
        assertThat(translator.translate("renewal", new TimeoutException()))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("renewal: no answer from Store in time; the outcome is unknown, try again");
        assertThat(translator.translate("renewal", new CompletionException(new NullPointerException())))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("renewal: no usable answer from Store: NullPointerException;"
                        + " the outcome is unknown, try again");
        assertThat(translator.translate("", new ArithmeticException("by zero")))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("by zero");
    }

    @Test
    void translate_whatCannotBeLinked_isConfiguration_howeverDeep() {
        NoSuchMethodError missing = new NoSuchMethodError("store.Driver.open()");
        assertThat(translator.translate("attempt", new CompletionException(new IOException("cut", missing))))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith("attempt: a class of the store's client cannot be linked")
                .hasMessageContaining("store.Driver.open()");
    }

    @Test
    void translate_whatIsSaidAlready_passes() {
        LockClosedException closed = new LockClosedException("closed");
        assertThat(translator.translate("release", new CompletionException(closed)))
                .isSameAs(closed);
        assertThat(translator.translate("release", OURS)).isSameAs(OURS);
    }

    @Test
    void translate_stage_endsAsItDoes() {
        assertThat(translator.translate("x", CompletableFuture.completedFuture(1)))
                .isCompletedWithValue(1);
        assertThat(translator.translate("x", CompletableFuture.failedFuture(new IOException())))
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(LockUnavailableException.class)
                .withMessageContaining("x: the line is cut; fix it");
    }

    @Test
    void call_thatThrows_isATranslatedFailure() {
        assertThat(translator.call("x", () -> 1)).isCompletedWithValue(1);
        assertThat(translator.call("x", () -> {
                    throw new IOException();
                }))
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withMessageContaining("x: the line is cut; fix it");
    }

    @Test
    void guard_whateverIsThrown_isAFailedStage() {
        Error error = new StackOverflowError("on purpose");
        assertThat(FailureTranslator.guard(() -> {
                    throw error;
                }))
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withCause(error);
        assertThat(FailureTranslator.guard(() -> null)).isCompletedExceptionally();
        assertThat(FailureTranslator.guard(() -> CompletableFuture.completedFuture(1)))
                .isCompletedWithValue(1);
    }

    @Test
    void causes_inACircle_comeOnce() {
        IOException outer = new IOException("outer");
        IOException inner = new IOException("inner", outer);
        outer.initCause(inner);
        assertThat(FailureTranslator.causes(new CompletionException(outer))).containsExactly(outer, inner);
    }

    @Test
    void unwrap_wrapperWithoutACause_isTheFailure() {
        CompletionException empty = new CompletionException("nothing in it", null);
        assertThat(FailureTranslator.unwrap(new ExecutionException(empty))).isSameAs(empty);
    }

    @Test
    void summary_hasTheOwnLineAndTheRoot_eachOnce() {
        assertThat(FailureTranslator.summary(new IOException("cut"))).isEqualTo("cut");
        assertThat(FailureTranslator.summary(new IOException("outer", new IOException("inner"))))
                .isEqualTo("outer (inner)");
        assertThat(FailureTranslator.summary(new IOException("outer: inner", new IOException("inner"))))
                .isEqualTo("outer: inner");
        assertThat(FailureTranslator.summary(new IllegalStateException(null, new IOException("inner"))))
                .isEqualTo("inner");
        assertThat(FailureTranslator.summary(new IllegalStateException())).isEqualTo("IllegalStateException");
        assertThat(FailureTranslator.summary(new CompletionException(new IOException("first\nsecond"))))
                .isEqualTo("first");
        assertThat(FailureTranslator.summary(new IOException("\n first \nsecond")))
                .isEqualTo("first ");
    }

    @Test
    void root_isTheDeepestThatSaysSomething_orTheFirstOfTheNetwork() {
        assertThat(FailureTranslator.rootOf(new IOException("a", new IOException("b", new IllegalStateException()))))
                .isEqualTo("b");
        assertThat(FailureTranslator.rootOf(new IOException("a", new IOException())))
                .isEqualTo("IOException");
        assertThat(FailureTranslator.rootOf(new IOException("a", new IllegalStateException(" "))))
                .isEqualTo("a");
        assertThat(FailureTranslator.rootOf(new IOException("a", new UnknownHostException("h"))))
                .isEqualTo("unknown host");
        assertThat(FailureTranslator.rootOf(new IOException("a", new UnresolvedAddressException())))
                .isEqualTo("unknown host");
        ConnectException refused = new ConnectException("refused");
        refused.initCause(new IOException("native"));
        assertThat(FailureTranslator.rootOf(new IOException("a", refused))).isEqualTo("refused");
        assertThat(FailureTranslator.rootOf(new CertificateException("expired", new IOException("deeper"))))
                .isEqualTo("expired");
        assertThat(FailureTranslator.rootOf(new IllegalStateException())).isEqualTo("IllegalStateException");
    }

    @Test
    void root_thatIsLong_isCut() {
        assertThat(FailureTranslator.rootOf(new IOException("x".repeat(1000)))).isEqualTo("x".repeat(300) + "…");
    }

    /** If the function throws the failure itself, it is not added to itself as suppressed. */
    @Test
    void translate_functionFails_theFailureIsToldAndTheFaultSuppressed() {
        ArithmeticException failure = new ArithmeticException("by zero");
        translator.translate("x", failure);
        assertThat(failure.getSuppressed()).hasSize(1);
        RuntimeException same = new RuntimeException("same");
        FailureTranslator throwsIt = new FailureTranslator("Store", cause -> {
            throw same;
        });
        assertThat(throwsIt.translate("x", same)).hasMessageContaining("same").hasCause(same);
        assertThat(same.getSuppressed()).isEmpty();
    }
}
