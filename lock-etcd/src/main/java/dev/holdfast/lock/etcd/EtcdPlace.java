package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import io.etcd.jetcd.ByteSequence;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * What this process knows about one acquisition: its key, the lease that the key is on, and the attempts whose outcome
 * nobody has heard yet. As long as there is one of those, ending the acquisition takes a tombstone on that attempt's
 * lease: the attempt arrives before the tombstone, and is deleted with it; or after it, and is refused; or after the
 * lease has ended, and is refused because a key cannot be put on a lease that is not there.
 *
 * <p>Thread-safe.
 */
final class EtcdPlace {
    private enum State {
        CONTENDING,
        WAITING,
        HELD,
        ENDED
    }

    private static final int GIVEN_BACK = -1;

    private final Acquisition acquisition;
    private volatile QueueSlots.Slot slot;
    private volatile ByteSequence key;
    private final ByteSequence value;
    private final Map<SharedLease, AtomicInteger> unsettled = new ConcurrentHashMap<>();

    /** Unconditional deletions of the key that have no answer yet; {@link #GIVEN_BACK} once others may use the key. */
    private final AtomicInteger deletions = new AtomicInteger();

    private volatile State state = State.CONTENDING;
    private volatile @Nullable SharedLease lease;
    private volatile @Nullable Grant grant;
    private volatile @Nullable Runnable wake;
    private volatile long revision;
    private volatile long requestedMillis;
    private volatile boolean ending;

    EtcdPlace(Acquisition acquisition, QueueSlots.Slot slot, ByteSequence key, Identity identity) {
        this.acquisition = acquisition;
        this.slot = slot;
        this.key = key;
        this.value = EtcdValue.of(acquisition.owner(), identity);
    }

    /** The place behind a grant, or null if the grant is not that place's owner's. */
    static @Nullable EtcdPlace of(Grant grant) {
        return grant.handle() instanceof EtcdPlace place && place.acquisition().equals(grant.acquisition())
                ? place
                : null;
    }

    Acquisition acquisition() {
        return acquisition;
    }

    ByteSequence key() {
        return key;
    }

    /** Takes another key, whose number is that. */
    void move(QueueSlots.Slot next, ByteSequence nextKey) {
        slot = next;
        key = nextKey;
        revision = 0;
    }

    QueueSlots.Slot slot() {
        return slot;
    }

    /** What the key holds, unique to the acquisition. */
    ByteSequence value() {
        return value;
    }

    /** The create revision of the key when it was last seen, 0 if it was not there or was not seen yet. */
    long revision() {
        return revision;
    }

    @Nullable SharedLease lease() {
        return lease;
    }

    /** The grant, once held. */
    @Nullable Grant grant() {
        return grant;
    }

    void enter(SharedLease next) {
        SharedLease before = lease;
        if (before != next) {
            lease = next;
            next.members().add(this);
            if (before != null) {
                before.members().remove(this);
            }
        }
    }

    /** A grant's key is on another lease now; unless it is being released, which then knows its lease no more. */
    void moveTo(SharedLease next) {
        if (isEnding()) {
            return;
        }
        enter(next);
        if (isEnded()) {
            next.members().remove(this);
        }
    }

    void seen(long createRevision) {
        revision = createRevision;
    }

    /** The lease that was asked for. */
    long requestedMillis() {
        return requestedMillis;
    }

    void held(Grant granted, long requested) {
        requestedMillis = requested;
        grant = granted;
        if (state != State.ENDED) {
            state = State.HELD;
        }
    }

    void waiting() {
        if (state != State.ENDED) {
            state = State.WAITING;
        }
    }

    /** From now on no attempt is sent, and whoever ends the acquisition sees all that were. */
    void ending() {
        ending = true;
        wake = null;
    }

    boolean isEnding() {
        return ending || state == State.ENDED;
    }

    void ended() {
        state = State.ENDED;
        wake = null;
        SharedLease last = lease;
        if (last != null) {
            last.members().remove(this);
        }
    }

    boolean isWaiting() {
        return state == State.WAITING;
    }

    boolean isHeld() {
        return state == State.HELD;
    }

    boolean isEnded() {
        return state == State.ENDED;
    }

    void onWake(@Nullable Runnable maybeFree) {
        wake = maybeFree;
    }

    void wake() {
        Runnable waiter = wake;
        if (waiter != null) {
            waiter.run();
        }
    }

    void sent(SharedLease on) {
        unsettled.computeIfAbsent(on, l -> new AtomicInteger()).incrementAndGet();
    }

    void settled(SharedLease on) {
        AtomicInteger count = unsettled.get(on);
        if (count != null) {
            count.decrementAndGet();
        }
    }

    /**
     * Whether the key may be deleted whatever it holds, because no other acquisition can get it: from now on it is not
     * given back before that deletion is {@linkplain #deleted answered}.
     */
    boolean mayDelete() {
        return deletions.getAndUpdate(open -> open == GIVEN_BACK ? GIVEN_BACK : open + 1) != GIVEN_BACK;
    }

    /** The deletion has been answered, so it cannot arrive later. */
    void deleted() {
        deletions.decrementAndGet();
    }

    /** Whether another acquisition may have the key: nothing that was sent for this one can arrive any more. */
    boolean giveBack() {
        return unsettledLeases().isEmpty() && deletions.compareAndSet(0, GIVEN_BACK);
    }

    /** Tombstones keep out whatever may still arrive. */
    void buried() {
        unsettled.clear();
    }

    /** The leases on which an attempt may still arrive. */
    List<SharedLease> unsettledLeases() {
        return unsettled.entrySet().stream()
                .filter(entry -> entry.getValue().get() > 0 && !entry.getKey().isGone())
                .map(Map.Entry::getKey)
                .toList();
    }
}
