package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Ticket;
import org.jspecify.annotations.Nullable;

/** What is known of one acquisition on the server: whether it may be there, and how it is removed. Within transitions. */
final class AcquisitionOnServer {
    final AcquisitionId id;
    final long leaseMillis;
    final boolean fair;
    private final EntryContext entry;
    private @Nullable Ticket ticket;
    /** The store has given a place in its queue at least once; later answers need not repeat it. */
    private boolean queued;
    /** An attempt failed, so the acquisition may be on the server without our knowledge. */
    private boolean uncertain;

    AcquisitionOnServer(EntryContext entry, LockOptions options) {
        this.entry = entry;
        this.id = new AcquisitionId(entry.name(), OwnerId.random(), entry.demand());
        this.leaseMillis = options.lease().toMillis();
        this.fair = options.fair();
    }

    /** Whether a grant to it is what a waiter with those options wants. */
    boolean serves(LockOptions options) {
        return leaseMillis == options.lease().toMillis() && fair == options.fair();
    }

    /** From the last answer. */
    @Nullable Ticket ticket() {
        return ticket;
    }

    boolean isQueued() {
        return queued;
    }

    boolean isUncertain() {
        return uncertain;
    }

    /** Whether something of it may be there, besides what an attempt that is out now does. */
    boolean mayBeThere() {
        return queued || uncertain;
    }

    void noteBusy(@Nullable Ticket given) {
        ticket = given;
        queued |= given != null;
    }

    /** The store has answered that nothing of it is left there. */
    void noteGone() {
        ticket = null;
        queued = false;
    }

    /** An attempt failed that was sent, and was not refused. */
    void noteUncertain() {
        uncertain = true;
    }

    /** Why nothing new is asked of the store for now; null if it is. */
    @Nullable LockException overload() {
        return mayBeThere() ? null : entry.engine().releaser().overload(entry.name());
    }

    void abandon() {
        entry.abandon(id, leaseMillis);
    }

    /** Abandons it if its only attempt was refused. */
    void abandonRefused() {
        entry.mutex().afterUnlock(entry.engine().releaser().abandonRefused(id, leaseMillis));
    }

    /** Whether the answer says that something of it is there. */
    static boolean isShownBy(@Nullable AcquireResult answer) {
        return answer instanceof AcquireResult.Granted
                || answer instanceof AcquireResult.Busy busy && busy.ticket() != null;
    }
}
