package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.ReleaseResult;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A release in progress. */
final class Release {
    /** The released hold. */
    final Hold hold;
    /** Completes with the server's answer to the first try, or with null if the outcome is unknown. */
    final CompletableFuture<@Nullable ReleaseResult> outcome = new CompletableFuture<>();

    final long begunNanos;
    /** Whether it was sent to an ordered store, which processes later requests after it. Guarded by the entry's mutex. */
    boolean sent;

    Release(Hold hold, long begunNanos) {
        this.hold = hold;
        this.begunNanos = begunNanos;
    }

    AcquisitionId acquisition() {
        return hold.heldGrant.grant.acquisition();
    }
}
