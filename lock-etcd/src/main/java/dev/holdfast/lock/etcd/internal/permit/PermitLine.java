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
import java.util.Set;
import java.util.stream.Stream;

/**
 * The keys of one name at one revision, as read for an acquisition of permits: all of them, or those at the head of the
 * queue. Immutable.
 *
 * <p><b>The head</b> is enough while the limit is older than the last key in it. The keys behind it then wait under the
 * present limit, and more keys are ahead of each of them than there are permits. So a grant and an event cost the same
 * however many acquisitions wait. Keys that are older than the limit may hold permits under an earlier limit; then the
 * whole queue is read ({@link #isEnough}).
 *
 * <p>An attempt writes a slot before it is known whether there is room, in the same transaction that reads the queue.
 * So an acquisition takes one transaction if the first slot is right. {@link PermitSlots} decides which slots count.
 */
public final class PermitLine {
    /** The maximum number of other keys' slots that a transaction writes; etcd allows 128 operations by default. */
    static final int MAX_WRITTEN = 60;
    /** How many more keys than permits are read, so that not every deletion requires another read. */
    static final int SPARE = 32;

    private final List<KeyValue> entries;
    private final List<KeyValue> limits;
    private final long revision;
    private final boolean more;
    private final PermitSlots slots;
    private final DemandLine line;

    /** The whole queue. */
    public PermitLine(List<KeyValue> keys, long revision) {
        this(keys, revision, false);
    }

    /**
     * A queue as read.
     *
     * @param keys those of the acquisitions and the limit, in any order
     * @param more whether there are keys behind them
     */
    public PermitLine(List<KeyValue> keys, long revision, boolean more) {
        this.more = more;
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

    /** Reads the head of a queue, up to the end of its range, without the limit. */
    public static GetOption head(ByteSequence end, int limit) {
        return GetOption.builder()
                .withRange(end)
                .withSortField(GetOption.SortTarget.CREATE)
                .withSortOrder(GetOption.SortOrder.ASCEND)
                .withLimit(limit + SPARE)
                .build();
    }

    /** Whether no key that is missing can hold permits. */
    public boolean isEnough() {
        return !more || !limits.isEmpty() && !entries.isEmpty() && isNewerThanLimit(entries.size() - 1);
    }

    private boolean isNewerThanLimit(int index) {
        return entries.get(index).getCreateRevision() > limits.get(0).getCreateRevision();
    }

    /** Whether a missing key may be the next one that has room. */
    public boolean isShort(int limit) {
        return more && entries.size() <= limit;
    }

    /** The head of this queue, or all of it if the head is not enough. */
    public PermitLine head(int limit) {
        int last = limit + SPARE - 1;
        if (entries.size() <= last + 1 || limits.isEmpty() || !isNewerThanLimit(last)) {
            return this;
        }
        List<KeyValue> kept = new ArrayList<>(entries.subList(0, last + 1));
        kept.addAll(limits);
        return new PermitLine(kept, revision, true);
    }

    /** The keys of the acquisitions, in the order of the queue. */
    public List<KeyValue> entries() {
        return entries;
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

    /** The same state without keys that were deleted since, given by their endings. */
    public PermitLine without(Set<ByteSequence> deleted) {
        if (deleted.isEmpty()) {
            return this;
        }
        List<KeyValue> rest = Stream.concat(entries.stream(), limits.stream())
                .filter(key -> !deleted.contains(EtcdKeys.ending(key.getKey())))
                .toList();
        return new PermitLine(rest, revision, more);
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
        int index = indexOf(mine);
        if (index >= 0) {
            return turnOf(mine, index);
        }
        int limit = limitFor(mine);
        if (!more) {
            return new Turn.Gone();
        }
        return limit == ((Demand.Permits) mine.id().demand()).limit() ? new Turn.None() : new Turn.OtherLimit(limit);
    }

    private int limitFor(Mine mine) {
        return limits.isEmpty() ? ((Demand.Permits) mine.id().demand()).limit() : limitOf(limits.get(0));
    }

    /** The turn of an acquisition that has the entry with that index. */
    public Turn turnOf(Mine mine, int index) {
        Demand.Permits wanted = (Demand.Permits) mine.id().demand();
        int slot = EtcdValue.entry(entries.get(index)).slot();
        if (slot > 0 && mine.isGranted(entries.get(index).getCreateRevision(), slot)) {
            return new Turn.Held(slot);
        }
        int limit = limitFor(mine);
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
