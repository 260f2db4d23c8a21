package dev.holdfast.lock.engine.internal.hold;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.ReleaseResult;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A release in progress. */
public final class Release {
    /** The released hold. */
    public final Hold hold;
    /** Completes with the server's answer to the first try, or with null if the outcome is unknown. */
    public final CompletableFuture<@Nullable ReleaseResult> outcome = new CompletableFuture<>();

    public final long begunNanos;
    /** Whether it was sent to an ordered store, which processes later requests after it. Guarded by the entry's mutex. */
    public boolean sent;

    public Release(Hold hold, long begunNanos) {
        this.hold = hold;
        this.begunNanos = begunNanos;
    }

    public AcquisitionId acquisition() {
        return hold.heldGrant.grant.acquisition();
    }
}
