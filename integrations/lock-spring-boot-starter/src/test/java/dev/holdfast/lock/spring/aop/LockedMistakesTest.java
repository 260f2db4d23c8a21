package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.LockedJob;
import dev.holdfast.lock.spring.OnBusy;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.http.ResponseEntity;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.context.request.async.WebAsyncTask;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;

/** A mistake in an annotation fails when the application starts, and says what to do. */
class LockedMistakesTest {
    private final LockedApplication application = new LockedApplication();

    static Stream<Arguments> mistakes() {
        return Stream.of(
                Arguments.of(PrivateMethod.class, "private", "use LockTemplate"),
                Arguments.of(StaticMethod.class, "static", "use LockTemplate"),
                Arguments.of(FinalMethod.class, "final", "use LockTemplate"),
                Arguments.of(SkipInt.class, "return a int", "return an Optional"),
                Arguments.of(SkipBoolean.class, "return a boolean", "return an Optional"),
                Arguments.of(SkipNonNull.class, "return a java.lang.String", "@Nullable"),
                Arguments.of(ReturnsFuture.class, "returns a Future", "return a CompletableFuture"),
                Arguments.of(ReturnsOwnFuture.class, "returns a OwnFuture", "return a CompletableFuture"),
                Arguments.of(ReturnsCallable.class, "returns a Callable, whose work begins after", "LockTemplate"),
                Arguments.of(ReturnsStream.class, "returns a Stream, whose work begins after", "LockTemplate"),
                Arguments.of(ReturnsIntStream.class, "returns a IntStream, whose work begins after", "LockTemplate"),
                Arguments.of(
                        ReturnsStreamingResponseBody.class,
                        "returns a StreamingResponseBody, whose work begins after",
                        "LockTemplate"),
                Arguments.of(
                        ReturnsDeferredResult.class,
                        "returns a DeferredResult, whose work begins after",
                        "LockTemplate"),
                Arguments.of(
                        ReturnsWebAsyncTask.class, "returns a WebAsyncTask, whose work begins after", "LockTemplate"),
                Arguments.of(ReturnsSseEmitter.class, "returns a SseEmitter, whose work begins after", "LockTemplate"),
                Arguments.of(
                        ReturnsEntity.class,
                        "returns a StreamingResponseBody, whose work begins after",
                        "LockTemplate"),
                Arguments.of(BlankName.class, "the name is blank", "BlankName"),
                Arguments.of(NulName.class, "NUL", "remove it"),
                Arguments.of(PlaceholderName.class, "shop.unknown", "PlaceholderName"),
                Arguments.of(UnparsableName.class, "cannot be parsed", "#{#id"),
                Arguments.of(UnknownParameter.class, "#ident", "[a0, id, p0]"),
                Arguments.of(PlainParameter.class, "as plain text", "write #{#id}"),
                Arguments.of(ShedLockStyle.class, "as plain text", "write #{#hotelCode}"),
                Arguments.of(UnparsableWait.class, "waitFor = \"soon\"", "5s"),
                Arguments.of(NoUnit.class, "waitFor = \"5\"", "no unit"),
                Arguments.of(NegativeWait.class, "waitFor = \"-5s\"", "negative"),
                Arguments.of(UnparsableLease.class, "lease = \"1x\"", "5s"),
                Arguments.of(ZeroLease.class, "lease must be positive", "ZeroLease"),
                Arguments.of(Contradiction.class, "minHold PT2S is longer than maxHold PT1S", "lower"),
                Arguments.of(UnknownOptions.class, "no lock options 'batch'", "holdfast.locks.batch"),
                Arguments.of(UnknownClient.class, "no LockClient 'second'", "[lockClient]"),
                Arguments.of(Twice.class, "2 annotations", "leave one"),
                Arguments.of(Repeated.class, "2 annotations", "leave one"));
    }

    @ParameterizedTest
    @MethodSource("mistakes")
    void mistake_isRefused(Class<?> bean, String problem, String remedy) {
        application.with(bean).run(context -> {
            assertThat(context).hasFailed();
            assertThat(context.getStartupFailure())
                    .hasStackTraceContaining("@Locked cannot work at ")
                    .hasStackTraceContaining(bean.getSimpleName())
                    .hasStackTraceContaining(problem)
                    .hasStackTraceContaining(remedy);
            assertThat(application.store.commands()).isZero();
        });
    }

    static class PrivateMethod {
        @Locked("a")
        private void run() {}
    }

    static class StaticMethod {
        @Locked("a")
        public static void run() {}
    }

    static class FinalMethod {
        @Locked("a")
        public final void run() {}
    }

    static class SkipInt {
        @LockedJob("a")
        public int run() {
            return 1;
        }
    }

    static class SkipBoolean {
        @Locked(name = "a", onBusy = OnBusy.SKIP)
        public boolean run() {
            return true;
        }
    }

    static class SkipNonNull {
        @LockedJob("a")
        public String run() {
            return "";
        }
    }

    static class ReturnsFuture {
        @Locked("a")
        public Future<String> run() {
            return new CompletableFuture<>();
        }
    }

    static class OwnFuture extends CompletableFuture<String> {}

    static class ReturnsOwnFuture {
        @Locked("a")
        public OwnFuture run() {
            return new OwnFuture();
        }
    }

    static class ReturnsCallable {
        @Locked("a")
        public Callable<String> run() {
            throw new AssertionError();
        }
    }

    static class ReturnsStream {
        @Locked("a")
        public Stream<String> run() {
            throw new AssertionError();
        }
    }

    static class ReturnsIntStream {
        @Locked("a")
        public IntStream run() {
            throw new AssertionError();
        }
    }

    static class ReturnsStreamingResponseBody {
        @Locked("a")
        public StreamingResponseBody run() {
            throw new AssertionError();
        }
    }

    static class ReturnsDeferredResult {
        @Locked("a")
        public DeferredResult<String> run() {
            throw new AssertionError();
        }
    }

    static class ReturnsWebAsyncTask {
        @Locked("a")
        public WebAsyncTask<String> run() {
            throw new AssertionError();
        }
    }

    static class ReturnsSseEmitter {
        @Locked("a")
        public SseEmitter run() {
            throw new AssertionError();
        }
    }

    static class ReturnsEntity {
        @Locked("a")
        public ResponseEntity<StreamingResponseBody> run() {
            throw new AssertionError();
        }
    }

    static class BlankName {
        @Locked
        public void run() {}
    }

    static class NulName {
        @Locked("a\0")
        public void run() {}
    }

    static class PlaceholderName {
        @Locked("${shop.unknown}")
        public void run() {}
    }

    static class UnparsableName {
        @Locked("orders/#{#id")
        public void run(String id) {}
    }

    static class UnknownParameter {
        @Locked("orders/#{#ident}")
        public void run(String id) {}
    }

    static class PlainParameter {
        @Locked("orders/#id")
        public void run(String id) {}
    }

    static class ShedLockStyle { // ShedLock#1284
        @Locked("{#hotelCode}")
        public void run(String hotelCode) {}
    }

    static class UnparsableWait {
        @Locked(name = "a", waitFor = "soon")
        public void run() {}
    }

    static class NoUnit {
        @Locked(name = "a", waitFor = "5")
        public void run() {}
    }

    static class NegativeWait {
        @Locked(name = "a", waitFor = "-5s")
        public void run() {}
    }

    static class UnparsableLease {
        @Locked(name = "a", lease = "1x")
        public void run() {}
    }

    static class ZeroLease {
        @Locked(name = "a", lease = "0s")
        public void run() {}
    }

    static class Contradiction {
        @Locked(name = "a", minHold = "2s", maxHold = "1s")
        public void run() {}
    }

    static class UnknownOptions {
        @Locked(name = "a", options = "batch")
        public void run() {}
    }

    static class UnknownClient {
        @Locked(name = "a", client = "second")
        public void run() {}
    }

    @Locked("a")
    @Repeatable(Nightlies.class)
    @Retention(RetentionPolicy.RUNTIME)
    @interface Nightly {}

    @Retention(RetentionPolicy.RUNTIME)
    @interface Nightlies {
        Nightly[] value();
    }

    static class Repeated {
        @Nightly
        @Nightly
        public void run() {}
    }

    static class Twice {
        @Locked("a")
        @LockedJob("b")
        public void run() {}
    }
}
