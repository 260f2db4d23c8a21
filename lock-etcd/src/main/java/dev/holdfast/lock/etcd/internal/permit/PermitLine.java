package dev.holdfast.lock.etcd.internal.permit;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.EtcdValue;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.DemandLine;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * All keys of one name at one revision, as read for an acquisition of permits. Immutable.
 *
 * <p>An attempt writes a slot before it is known whether there is room, in the same transaction that reads the queue.
 * So an acquisition takes one transaction if the first slot is right. {@link PermitSlots} decides which slots count.
 */
public final class PermitLine {
    /** The maximum number of other keys' slots that a transaction writes; etcd allows 128 operations by default. */
    static final int MAX_WRITTEN = 60;

    private final List<KeyValue> entries;
    private final List<KeyValue> limits;
    private final long revision;
    private final PermitSlots slots;
    private final DemandLine line;

    public PermitLine(List<KeyValue> keys, long revision) {
        this.entries = keys.stream()
                .filter(key -> !isLimit(key))
                .sorted(Comparator.comparingLong(KeyValue::getCreateRevision))
                .toList();
        this.limits = keys.stream().filter(PermitLine::isLimit).toList();
        this.revision = revision;
        this.slots = new PermitSlots(entries.stream().map(EtcdValue::entry).toList());
        this.line = slots.line();
    }

    /** The position of an acquisition in the queue. */
    public sealed interface Turn {
        /** The acquisition holds that slot. */
        record Held(int slot) implements Turn {}

        /** There is room, but slots must be written first. */
        record Room(SlotPlan plan) implements Turn {}

        /** The acquisition waits. */
        record None() implements Turn {}

        /**
         * The name has another limit of permits.
         *
         * @param limit the stored limit
         */
        record OtherLimit(int limit) implements Turn {}

        /** The acquisition has no key. */
        record Gone() implements Turn {}
    }

    /** Reads all keys of a name, including its limit. */
    public static GetOption wholeQueue() {
        return GetOption.builder().isPrefix(true).build();
    }

    public static boolean isLimit(KeyValue key) {
        return EtcdKeys.isLimit(EtcdKeys.ending(key.getKey()).toString(StandardCharsets.UTF_8));
    }

    /** The stored limit, or 0. */
    static int limitOf(KeyValue key) {
        String text = key.getValue().toString(StandardCharsets.UTF_8);
        return text.matches("\\d{1,7}") ? Integer.parseInt(text) : 0;
    }

    public long revision() {
        return revision;
    }

    /** The same state without a key that was deleted since. */
    public PermitLine without(ByteSequence deleted) {
        ByteSequence ending = EtcdKeys.ending(deleted);
        List<KeyValue> rest = java.util.stream.Stream.concat(entries.stream(), limits.stream())
                .filter(key -> !EtcdKeys.ending(key.getKey()).equals(ending))
                .toList();
        return new PermitLine(rest, revision);
    }

    /** The acquisition whose turn is computed. */
    public interface Mine {
        AcquisitionId id();

        /** Whether the key belongs to the acquisition. */
        boolean owns(KeyValue key);

        /** Whether it was granted with that revision and slot. */
        boolean isGranted(long createRevision, int slot);
    }

    public Turn turnOf(Mine mine) {
        Demand.Permits wanted = (Demand.Permits) mine.id().demand();
        int index = indexOf(mine);
        if (index < 0) {
            return new Turn.Gone();
        }
        int slot = EtcdValue.entry(entries.get(index)).slot();
        if (slot > 0 && mine.isGranted(entries.get(index).getCreateRevision(), slot)) {
            return new Turn.Held(slot);
        }
        int limit = limits.isEmpty() ? wanted.limit() : limitOf(limits.get(0));
        if (limit != wanted.limit()) {
            return new Turn.OtherLimit(limit);
        }
        if (!line.hasRoom(index)) {
            return new Turn.None();
        }
        if (slots.isSettled(index)) {
            return new Turn.Held(slot);
        }
        List<PermitSlots.Change> changes = slots.changesFor(index, line);
        return changes.isEmpty() ? new Turn.None() : new Turn.Room(plan(index, slot, changes));
    }

    private SlotPlan plan(int own, int slot, List<PermitSlots.Change> changes) {
        int to = slot;
        List<Cmp> because = List.of();
        List<Op> ahead = new ArrayList<>();
        for (PermitSlots.Change change : changes.subList(0, Math.min(changes.size(), MAX_WRITTEN))) {
            if (change.index() == own) {
                to = change.slot();
                because = because(change);
            } else {
                ahead.add(write(change));
            }
        }
        return new SlotPlan(slot, to, because, ahead);
    }

    /** The other key has the same slot and is still ahead; its owner may have created it again. */
    private List<Cmp> because(PermitSlots.Change change) {
        KeyValue same = entries.get(change.because());
        return change.because() == change.index()
                ? List.of()
                : List.of(
                        new Cmp(same.getKey(), Cmp.Op.EQUAL, CmpTarget.value(same.getValue())),
                        new Cmp(same.getKey(), Cmp.Op.EQUAL, CmpTarget.createRevision(same.getCreateRevision())));
    }

    /**
     * Writes the slot of another client's key, if that key is unchanged; its other fields and its lease stay the same.
     */
    private Op write(PermitSlots.Change change) {
        KeyValue key = entries.get(change.index());
        List<Cmp> conditions = new ArrayList<>(because(change));
        conditions.add(new Cmp(key.getKey(), Cmp.Op.EQUAL, CmpTarget.modRevision(key.getModRevision())));
        PutOption lease = PutOption.builder().withLeaseId(key.getLease()).build();
        Op put = Op.put(key.getKey(), EtcdValue.withSlot(key.getValue(), change.slot()), lease);
        return Op.txn(conditions.toArray(new Cmp[0]), new Op[] {put}, new Op[0]);
    }

    private int indexOf(Mine mine) {
        for (int i = 0; i < entries.size(); i++) {
            if (mine.owns(entries.get(i))) {
                return i;
            }
        }
        return -1;
    }
}
