package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.spi.FailureTranslator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;
import org.apache.zookeeper.KeeperException.Code;

/** Helpers for completion stages. */
final class Futures {

    private Futures() {}

    /** Passes the value or the failure to the listener; the other argument is null. */
    static <T> void listen(CompletableFuture<T> stage, BiConsumer<? super T, ? super Throwable> listener) {
        ignore(stage.whenComplete(listener));
    }

    /** Ignores a stage whose failure is reported elsewhere. */
    @SuppressWarnings("unused")
    static void ignore(CompletableFuture<?> stage) {}

    /** Completes {@code to} with the result of {@code from}. */
    static <T> void pass(CompletableFuture<? extends T> from, CompletableFuture<T> to) {
        listen(from, (value, failure) -> {
            if (failure == null) {
                to.complete(value);
            } else {
                to.completeExceptionally(FailureTranslator.unwrap(failure));
            }
        });
    }

    /**
     * Returns the second stage. If both stages fail, the result has the failure of the first one, which is the cause.
     */
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

    /** Returns the value if the failure has the expected code; rethrows any other failure. */
    static <T> T recover(Throwable failure, Code expected, T value) {
        if (ZooKeeperFailures.is(failure, expected)) {
            return value;
        }
        throw new CompletionException(FailureTranslator.unwrap(failure));
    }
}
