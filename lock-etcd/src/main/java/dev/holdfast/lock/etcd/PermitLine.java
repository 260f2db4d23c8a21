package dev.holdfast.lock.etcd;

import dev.holdfast.lock.Demand;
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
 * All keys of one name at one revision, as one who asks for permits sees them. Immutable.
 *
 * <p>A slot is written before it is known whether there is room, by the same transaction that reads the line, so that an
 * acquisition is one transaction where the first guess is right. {@link PermitSlots} tells whose slot counts.
 */
final class PermitLine {
    /** How many slots of others a transaction writes at most; etcd allows 128 operations by default. */
    static final int MAX_WRITTEN = 60;

    private final List<KeyValue> entries;
    private final List<KeyValue> limits;
    private final long revision;
    private final PermitSlots slots;
    private final DemandLine line;

    PermitLine(List<KeyValue> keys, long revision) {
        this.entries = keys.stream()
                .filter(key -> !isLimit(key))
                .sorted(Comparator.comparingLong(KeyValue::getCreateRevision))
                .toList();
        this.limits = keys.stream().filter(PermitLine::isLimit).toList();
        this.revision = revision;
        this.slots = new PermitSlots(entries.stream().map(EtcdValue::entry).toList());
        this.line = slots.line();
    }

    /** What the line says to an acquisition. */
    sealed interface Turn {
        /** It holds that slot. */
        record Held(int slot) implements Turn {}

        /** There is room, and slots are to be written. */
        record Room(SlotPlan plan) implements Turn {}

        /** It waits. */
        record None() implements Turn {}

        /**
         * The permits are of another limit.
         *
         * @param limit the stored one
         */
        record OtherLimit(int limit) implements Turn {}

        /** Its key is not there. */
        record Gone() implements Turn {}
    }

    /** Reads all keys of a name, its limit among them. */
    static GetOption wholeQueue() {
        return GetOption.builder().isPrefix(true).build();
    }

    static boolean isLimit(KeyValue key) {
        return EtcdKeys.isLimit(EtcdKeys.ending(key.getKey()).toString(StandardCharsets.UTF_8));
    }

    /** The stored limit, or 0. */
    static int limitOf(KeyValue key) {
        String text = key.getValue().toString(StandardCharsets.UTF_8);
        return text.matches("\\d{1,7}") ? Integer.parseInt(text) : 0;
    }

    long revision() {
        return revision;
    }

    /** The same without a key that was deleted since. */
    PermitLine without(ByteSequence deleted) {
        ByteSequence ending = EtcdKeys.ending(deleted);
        List<KeyValue> rest = java.util.stream.Stream.concat(entries.stream(), limits.stream())
                .filter(key -> !EtcdKeys.ending(key.getKey()).equals(ending))
                .toList();
        return new PermitLine(rest, revision);
    }

    /** Whose turn is asked for. */
    interface Mine {
        AcquisitionId id();

        /** Whether the key is its own. */
        boolean owns(KeyValue key);

        /** Whether it was granted with that revision and slot. */
        boolean isGranted(long createRevision, int slot);
    }

    Turn turnOf(Mine mine) {
        Demand.Permits asked = (Demand.Permits) mine.id().demand();
        int index = indexOf(mine);
        if (index < 0) {
            return new Turn.Gone();
        }
        int slot = EtcdValue.entry(entries.get(index)).slot();
        if (slot > 0 && mine.isGranted(entries.get(index).getCreateRevision(), slot)) {
            return new Turn.Held(slot);
        }
        int limit = limits.isEmpty() ? asked.limit() : limitOf(limits.get(0));
        if (limit != asked.limit()) {
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

    /** That the other key says the same slot, and is still ahead: its owner may have made it again. */
    private List<Cmp> because(PermitSlots.Change change) {
        KeyValue same = entries.get(change.because());
        return change.because() == change.index()
                ? List.of()
                : List.of(
                        new Cmp(same.getKey(), Cmp.Op.EQUAL, CmpTarget.value(same.getValue())),
                        new Cmp(same.getKey(), Cmp.Op.EQUAL, CmpTarget.createRevision(same.getCreateRevision())));
    }

    /** Of somebody else's slot: what its key says else, and the lease on which it is, are as they were read. */
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
