package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.permit.PermitLine;
import dev.holdfast.lock.etcd.internal.permit.SlotPlan;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.Ticket;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Op;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition in this process: its key, the state of the key in the newest answer, the writes without an answer, and
 * whether it waits or holds. {@link ConditionalWrite} explains how the first three determine where the key may be.
 *
 * <p>Thread-safe.
 */
public final class EtcdAcquisition implements PermitLine.Mine, LeaseMember {
    private final AcquisitionKey key;
    private final AtomicReference<KeyState> seen = new AtomicReference<>(KeyState.NEVER_SEEN);
    private final KeyWrites writes = new KeyWrites();
    private final LeaseMemberships memberships = new LeaseMemberships(this);
    private final AcquisitionPhase phase = new AcquisitionPhase(() -> seen().created());
    private final AtomicReference<@Nullable Ticket> lastingTicket = new AtomicReference<>();
    private final AtomicReference<@Nullable SlotPlan> plan = new AtomicReference<>();
    /** The next attempt writes instead of polling. */
    private final AtomicBoolean notified = new AtomicBoolean();

    private volatile boolean wholeQueue;
    private final AtomicInteger history = new AtomicInteger();
    private final AtomicReference<@Nullable Runnable> wakeUp = new AtomicReference<>();
    private volatile long checkedNanos = System.nanoTime();

    public EtcdAcquisition(AcquisitionId id, ClientKeyPool.Slot slot, ByteSequence key, Identity identity) {
        this.key = new AcquisitionKey(id, slot, key, identity);
    }

    /** The acquisition of a grant, or null if the grant belongs to another one. */
    public static @Nullable EtcdAcquisition of(Grant grant) {
        return grant.handle() instanceof EtcdAcquisition acquisition
                        && acquisition.id().equals(grant.acquisition())
                ? acquisition
                : null;
    }

    @Override
    public AcquisitionId id() {
        return key.id();
    }

    public AcquisitionKey ownKey() {
        return key;
    }

    @Override
    public ByteSequence key() {
        return key.bytes();
    }

    /** Changes to another key. */
    public void move(ClientKeyPool.Slot next, ByteSequence nextKey) {
        key.move(next, nextKey);
        plan.set(null); // it may write the old key, which belongs to another acquisition
        seen.updateAndGet(last -> KeyState.notThere(last.at()));
    }

    public ByteSequence value(int slot) {
        return key.value(slot);
    }

    public Op put(KeyWrite write, @Nullable SlotPlan next) {
        return key.put(write, next);
    }

    @Override
    public boolean owns(KeyValue entry) {
        return key.owns(entry);
    }

    /** Allows other acquisitions to use the key, unless a request of this one may still arrive. Returns whether they may. */
    public boolean giveBack() {
        return openCreations().isEmpty() && key.giveBack();
    }

    /** There is room once these slots are written; the next attempt writes them. */
    public void plan(SlotPlan next) {
        plan.set(next);
    }

    /** The plan for the next attempt, once. */
    public @Nullable SlotPlan takePlan() {
        return plan.getAndSet(null);
    }

    /** The head of the queue is not enough for this acquisition; permanent. */
    public void readWholeQueue() {
        wholeQueue = true;
    }

    public boolean readsWholeQueue() {
        return wholeQueue;
    }

    @Override
    public boolean isGranted(long created, int slot) {
        Grant present = grant();
        return present != null && present.token() == created && present.slot() == slot;
    }

    public KeyState seen() {
        return Objects.requireNonNull(seen.get());
    }

    /** Notes the state in an answer, unless a newer one is known. Returns whether it is the newest. */
    public boolean update(KeyState state) {
        checkedNanos = System.nanoTime();
        boolean newest = seen.updateAndGet(last -> state.at() >= last.at() ? state : last) == state;
        if (newest) {
            writes.removeOutdated(state);
            updateMemberships();
        }
        return newest;
    }

    /** Whether a check of its lease's keys that began then is newer than the last write and the last {@link #markChecked}. */
    public boolean isUncheckedSince(long nanos) {
        return nanos - checkedNanos > 0;
    }

    /** A check of its lease's keys has covered this acquisition. */
    public void markChecked() {
        checkedNanos = System.nanoTime();
    }

    /** The history of the store that the state belongs to. */
    public int history() {
        return history.get();
    }

    /** Discards the state if it belongs to an earlier history of the store. */
    void enterHistory(int present) {
        if (history.getAndSet(present) != present) {
            seen.set(KeyState.NEVER_SEEN);
            writes.removeAllButCreations();
            lastingTicket.set(null);
            plan.set(null);
            wholeQueue = false;
            updateMemberships();
        }
    }

    /** Registers a write that is about to be sent and expects the state last seen. */
    public KeyWrite beginWrite(SharedLease lease) {
        KeyState last = seen();
        int slot = last.modified() == 0 ? key.firstSlot() : last.slot();
        KeyWrite write = new KeyWrite(last.modified(), last.created(), slot, lease);
        writes.add(write);
        join(lease);
        return write;
    }

    /** The write was executed or refused, so it has no effect later. */
    void endWrite(KeyWrite write) {
        writes.remove(write);
        updateMemberships();
    }

    private void join(SharedLease lease) {
        memberships.join(lease);
        if (isEnded()) {
            memberships.leaveAll();
        }
    }

    /** Leaves the leases on which the key cannot be, and joins the one on which it was seen. */
    private void updateMemberships() {
        memberships.leaveUnless(lease -> lease == seen().lease() || writes.isAnyOn(lease));
        SharedLease present = seen().lease();
        if (present != null && !isEnded()) {
            join(present);
        }
    }

    /** The key's lease when last seen, or null. */
    public @Nullable SharedLease lease() {
        return seen().lease();
    }

    /** All leases on which an existing key may be. */
    public List<SharedLease> possibleLeases() {
        return writes.possibleLeases(seen());
    }

    /** How long an existing key certainly stays after the given time; 0 if unknown. */
    public long certainNanos(long nowNanos) {
        if (seen().lease() == null) {
            return 0;
        }
        long certain = Long.MAX_VALUE;
        for (SharedLease lease : possibleLeases()) {
            certain = Math.min(certain, lease.isGone() ? 0 : lease.certainNanos(nowNanos));
        }
        return certain;
    }

    /** The leases on which a creation may still arrive. */
    public List<SharedLease> openCreations() {
        return writes.openCreations();
    }

    /** Whether there is no key and none can arrive; permanent once the acquisition is {@linkplain #beginEnd ending}. */
    public boolean isGone() {
        // In this order: an answer is noted before its write is removed.
        return openCreations().isEmpty() && seen().modified() == 0;
    }

    /** Tombstones refuse all writes that may still arrive. */
    public void markTombstoned() {
        writes.clear();
    }

    public void beginAttempt(AcquireRequest request, long nanos) {
        phase.beginAttempt(request, nanos);
    }

    /** The latest attempt, unless it was granted. */
    AcquisitionPhase.@Nullable Attempt attempt() {
        return phase.attempt();
    }

    /** The ticket that stays the same while the acquisition waits; created if there is none. */
    Ticket lastingTicket(Supplier<Ticket> factory) {
        return Objects.requireNonNull(lastingTicket.updateAndGet(present -> present == null ? factory.get() : present));
    }

    /** The grant, while held. */
    public @Nullable Grant grant() {
        return phase.grant();
    }

    /** The requested lease. */
    public long requestedMillis() {
        return phase.requestedMillis();
    }

    /** See {@link AcquisitionPhase#hold}. */
    public boolean hold(Grant granted, long leaseMillis) {
        return phase.hold(granted, leaseMillis);
    }

    /** See {@link AcquisitionPhase#handOver}; false also if the leases end before the granted time. */
    boolean handOver(Grant granted, AcquisitionPhase.Attempt to) {
        return phase.handOver(granted, to, () -> openCreations().isEmpty(), () -> {
            markChecked(); // an earlier check of the lease's keys does not count for the first renewal
            return certainNanos(to.nanos()) >= TimeUnit.MILLISECONDS.toNanos(granted.leaseMillis());
        });
    }

    /** See {@link AcquisitionPhase#keepWaiting}. */
    public @Nullable Grant keepWaiting() {
        return phase.keepWaiting();
    }

    /** From now on nothing is written, so the open writes are complete. */
    public void beginEnd() {
        phase.beginEnd();
        wakeUp.set(null);
    }

    public void end() {
        phase.end();
        wakeUp.set(null);
        memberships.leaveAll();
    }

    @Override
    public boolean isWaiting() {
        return phase.isWaiting();
    }

    public boolean isHeld() {
        return phase.isHeld();
    }

    public boolean isEnding() {
        return phase.isEnding();
    }

    public boolean isEnded() {
        return phase.isEnded();
    }

    public void setWakeUp(Runnable onMaybeFree) {
        wakeUp.set(onMaybeFree);
    }

    /** Removes that callback, but not one that has replaced it. */
    public void clearWakeUp(Runnable onMaybeFree) {
        wakeUp.compareAndSet(onMaybeFree, null);
    }

    public void markNotified() {
        notified.set(true);
    }

    /** Whether it was notified since the previous call. */
    public boolean takeNotification() {
        return notified.getAndSet(false);
    }

    /** Its lease has ended, and its key with it: starts another attempt. */
    public void wake() {
        Runnable waiter = wakeUp.get();
        if (waiter != null) {
            markNotified();
            waiter.run();
        }
    }
}
