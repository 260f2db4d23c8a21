package dev.holdfast.lock.testkit.fault;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A reply that is held back until the test releases it. Thread-safe. */
public final class HeldReply {
    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CompletableFuture<Boolean> letGo = new CompletableFuture<>();

    HeldReply() {}

    /**
     * Waits until the server has answered and the reply is being kept back.
     *
     * @param atMost the longest time to wait
     * @throws InterruptedException if interrupted
     */
    public void awaitArrival(Duration atMost) throws InterruptedException {
        if (!arrived.await(atMost.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new AssertionError("no reply arrived within " + atMost);
        }
    }

    /**
     * Returns whether the server has answered.
     *
     * @return true from the moment on in which the reply is being kept back
     */
    public boolean hasArrived() {
        return arrived.getCount() == 0;
    }

    /** Lets it go. Idempotent. */
    public void deliver() {
        letGo.complete(true);
    }

    <T> CompletableFuture<T> held(CompletableFuture<T> reply) {
        CompletableFuture<T> delivered = new CompletableFuture<>();
        reply.whenComplete((value, failure) -> {
            arrived.countDown();
            letGo.thenRun(() -> {
                if (failure == null) {
                    delivered.complete(value);
                } else {
                    delivered.completeExceptionally(failure);
                }
            });
        });
        return delivered;
    }
}
