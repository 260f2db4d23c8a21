package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.ReleaseResult;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A release under way. */
final class Release {
    /** What was released. */
    final Hold hold;
    /** Completes with what the server said to the first try, or null if that is not known. */
    final CompletableFuture<@Nullable ReleaseResult> outcome = new CompletableFuture<>();

    final long begunNanos;
    /** It is on its way to an ordered store: whatever is sent now arrives behind it. Guarded by the entry's mutex. */
    boolean sent;

    Release(Hold hold, long begunNanos) {
        this.hold = hold;
        this.begunNanos = begunNanos;
    }

    AcquisitionId acquisition() {
        return hold.heldGrant.grant.acquisition();
    }
}
