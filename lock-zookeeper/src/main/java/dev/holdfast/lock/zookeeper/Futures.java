package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.spi.FailureTranslator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;
import org.apache.zookeeper.KeeperException.Code;

/** Small joints between stages. */
final class Futures {

    private Futures() {}

    /** Calls back with the value or the failure, one of which is null. */
    static <T> void listen(CompletableFuture<T> stage, BiConsumer<? super T, ? super Throwable> listener) {
        ignore(stage.whenComplete(listener));
    }

    /** For a stage whose failure is told elsewhere. */
    @SuppressWarnings("unused")
    static void ignore(CompletableFuture<?> stage) {}

    /** Completes {@code to} as {@code from} does. */
    static <T> void pass(CompletableFuture<? extends T> from, CompletableFuture<T> to) {
        listen(from, (value, failure) -> {
            if (failure == null) {
                to.complete(value);
            } else {
                to.completeExceptionally(FailureTranslator.unwrap(failure));
            }
        });
    }

    /** The second stage; if it fails, the first one's failure, if any, tells better why. */
    static <T> CompletableFuture<T> preferFailure(CompletableFuture<Void> cause, CompletableFuture<T> stage) {
        CompletableFuture<T> result = new CompletableFuture<>();
        listen(stage, (value, failure) -> {
            if (failure == null) {
                result.complete(value);
            } else {
                listen(
                        cause,
                        (nothing, reason) -> result.completeExceptionally(
                                FailureTranslator.unwrap(reason == null ? failure : reason)));
            }
        });
        return result;
    }

    /** The value in place of that refusal; any other failure is thrown on. */
    static <T> T recover(Throwable failure, Code expected, T value) {
        if (ZooKeeperFailures.is(failure, expected)) {
            return value;
        }
        throw new CompletionException(FailureTranslator.unwrap(failure));
    }
}
