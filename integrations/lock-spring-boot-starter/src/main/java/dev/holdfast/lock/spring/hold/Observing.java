package dev.holdfast.lock.spring.hold;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Tells an observer what becomes of a call. */
final class Observing {
    private Observing() {}

    static LockedCalls.Body body(LockedCalls.Body body, CallObserver.Observed observed) {
        return lease -> {
            observed.acquired(lease.token());
            return body.run(lease);
        };
    }

    static <T extends @Nullable Object> Supplier<T> busy(Supplier<? extends T> ifBusy, CallObserver.Observed observed) {
        return () -> {
            observed.busy();
            return ifBusy.get();
        };
    }

    static void endWith(CompletableFuture<?> future, CallObserver.Observed observed) {
        future.whenComplete((result, failure) -> {
            if (failure != null) {
                observed.failed(failure);
            }
            observed.end();
        });
    }
}
