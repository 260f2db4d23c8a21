package dev.holdfast.lock.memory;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** What lies between the memory store and its backends. Thread-safe. */
final class MemorySwitch {
    private final AtomicReference<CompletableFuture<Boolean>> open =
            new AtomicReference<>(CompletableFuture.completedFuture(true));
    private final AtomicInteger epoch = new AtomicInteger();
    private volatile boolean cut;

    void pause() {
        open.set(new CompletableFuture<>());
    }

    void resume() {
        open.get().complete(true);
    }

    void cut(boolean isCut) {
        cut = isCut;
    }

    /** Subscriptions of before are lost. */
    void restart() {
        epoch.incrementAndGet();
    }

    int epoch() {
        return epoch.get();
    }

    boolean isCut() {
        return cut;
    }

    boolean isOpen() {
        return !cut && open.get().isDone();
    }

    CompletionStage<Boolean> whenOpen() {
        return open.get();
    }
}
