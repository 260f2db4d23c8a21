package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.EtcdValue;
import dev.holdfast.lock.etcd.internal.permit.SlotPlan;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Identity;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The key of one acquisition, its value, and whether another acquisition of this client may use the key. Thread-safe. */
public final class AcquisitionKey {
    private static final int GIVEN_BACK = -1;

    private final AcquisitionId id;
    private final ByteSequence value;
    /** What each value begins with, and no value of another acquisition. */
    private final ByteSequence valueStart;

    private final int firstSlot;
    private volatile ClientKeyPool.Slot slot;
    private volatile ByteSequence bytes;
    /** Unconditional deletions of the key without an answer; {@link #GIVEN_BACK} once others may use the key. */
    private final AtomicInteger deletions = new AtomicInteger();

    AcquisitionKey(AcquisitionId id, ClientKeyPool.Slot slot, ByteSequence bytes, Identity identity) {
        this.id = id;
        this.slot = slot;
        this.bytes = bytes;
        this.value = EtcdValue.of(id.owner(), identity);
        this.valueStart = EtcdKeys.bytes(EtcdValue.start(id.owner()));
        // Right if only this client has permits. If it has all of them, this acquisition must wait anyway.
        this.firstSlot =
                id.demand() instanceof Demand.Permits wanted && slot.number() < wanted.limit() ? slot.number() + 1 : 0;
    }

    AcquisitionId id() {
        return id;
    }

    ByteSequence bytes() {
        return bytes;
    }

    public ClientKeyPool.Slot slot() {
        return slot;
    }

    /** For permits, the slot in a new key; 0: none. */
    int firstSlot() {
        return firstSlot;
    }

    /** Changes to another key. */
    void move(ClientKeyPool.Slot next, ByteSequence nextBytes) {
        slot = next;
        bytes = nextBytes;
    }

    /** The value of the key. It is unique to the acquisition, and constant except for the slot of permits. */
    ByteSequence value(int permitSlot) {
        return id.demand() instanceof Demand.Permits wanted ? EtcdValue.ofPermits(value, wanted, permitSlot) : value;
    }

    /** Puts the key on the lease. The value stays the same, unless the plan changes its slot. */
    Op put(KeyWrite write, @Nullable SlotPlan plan) {
        PutOption lease = PutOption.builder().withLeaseId(write.lease().id()).build();
        Op same = Op.put(bytes, value(write.slot()), lease);
        if (plan == null || plan.from() != write.slot() || plan.from() == plan.to()) {
            return same;
        }
        Op next = Op.put(bytes, value(plan.to()), lease);
        return plan.because().isEmpty()
                ? next
                : Op.txn(plan.because().toArray(new Cmp[0]), new Op[] {next}, new Op[] {same});
    }

    /** Whether the entry holds a value of this acquisition. */
    boolean owns(KeyValue entry) {
        return entry.getValue().startsWith(valueStart);
    }

    /** Comparisons that are true on the server while the key has a value of this acquisition. */
    public List<Cmp> ownership() {
        if (!(id.demand() instanceof Demand.Permits)) {
            return List.of(new Cmp(bytes, Cmp.Op.EQUAL, CmpTarget.value(value)));
        }
        ByteSequence end = EtcdKeys.bytes(id.owner() + "!"); // the character after the space
        return List.of(
                new Cmp(bytes, Cmp.Op.GREATER, CmpTarget.value(valueStart)),
                new Cmp(bytes, Cmp.Op.LESS, CmpTarget.value(end)));
    }

    /**
     * Allows an unconditional deletion, unless another acquisition may already use the key. Until that deletion is
     * {@linkplain #endDeletion answered}, the key is not given back. Returns whether it is allowed.
     */
    public boolean beginDeletion() {
        return deletions.getAndUpdate(open -> open == GIVEN_BACK ? GIVEN_BACK : open + 1) != GIVEN_BACK;
    }

    /** An unconditional deletion was answered, so it cannot arrive later. */
    public void endDeletion() {
        deletions.decrementAndGet();
    }

    /** Allows other acquisitions to use the key, unless a deletion has no answer yet. Returns whether they may. */
    boolean giveBack() {
        return deletions.compareAndSet(0, GIVEN_BACK);
    }
}
