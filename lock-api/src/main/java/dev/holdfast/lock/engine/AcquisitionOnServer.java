package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Ticket;
import org.jspecify.annotations.Nullable;

/** The known state of one acquisition on the server: whether it may exist there, and how it is removed. Used within transitions. */
final class AcquisitionOnServer {
    final AcquisitionId id;
    final long leaseMillis;
    final boolean fair;
    private final EntryContext entry;
    private @Nullable Ticket ticket;
    /** Whether the store has ever returned a ticket; later answers need not repeat it. */
    private boolean queued;
    /** Whether an attempt failed, so that the acquisition may exist on the server although no answer confirmed it. */
    private boolean uncertain;

    AcquisitionOnServer(EntryContext entry, LockOptions options) {
        this.entry = entry;
        this.id = new AcquisitionId(entry.name(), OwnerId.random(), entry.demand());
        this.leaseMillis = options.lease().toMillis();
        this.fair = options.fair();
    }

    /** Whether a waiter with these options can use a grant of this acquisition. */
    boolean serves(LockOptions options) {
        return leaseMillis == options.lease().toMillis() && fair == options.fair();
    }

    /** The ticket of the last answer. */
    @Nullable Ticket ticket() {
        return ticket;
    }

    boolean isQueued() {
        return queued;
    }

    boolean isUncertain() {
        return uncertain;
    }

    /** Whether the server may keep anything of it, apart from the effects of an attempt that is in flight. */
    boolean mayBeThere() {
        return queued || uncertain;
    }

    void noteBusy(@Nullable Ticket given) {
        ticket = given;
        queued |= given != null;
    }

    /** Records the store's answer that nothing of it is left. */
    void noteGone() {
        ticket = null;
        queued = false;
    }

    /** Records a failure of an attempt that was sent and not refused. */
    void noteUncertain() {
        uncertain = true;
    }

    /** Returns why the client sends no new acquisition for now; null if it does. */
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

    /** Whether the answer shows that the server keeps something of it. */
    static boolean isShownBy(@Nullable AcquireResult answer) {
        return answer instanceof AcquireResult.Granted
                || answer instanceof AcquireResult.Busy busy && busy.ticket() != null;
    }
}
