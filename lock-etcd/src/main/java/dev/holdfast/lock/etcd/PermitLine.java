package dev.holdfast.lock.etcd;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.DemandLine;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.options.GetOption;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * All keys of one name at one revision, as one who asks for permits sees them. Immutable.
 *
 * <p>A slot is written before it is known whether there is room, by the same transaction that reads the line, so that an
 * acquisition is one transaction where the first guess is right. A slot counts if there is room for its place: so who has found none
 * is in nobody's way.
 *
 * <p>Whoever writes another slot than its key was created with rests on those ahead ({@link DemandLine}): it compares that they are
 * there still. Where they may be more than a transaction can compare, each write of a slot writes one key more, and
 * who takes one compares that nobody has done so since it looked.
 */
final class PermitLine {
    /** etcd takes 128 comparisons in a transaction by default, of which {@link ConditionalWrite} needs two. */
    private static final int MOST_COMPARED = 126;

    private final List<KeyValue> places;
    /** The limit, and what is written with the slots. */
    private final List<KeyValue> others;

    private final long revision;
    private final DemandLine line;

    PermitLine(List<KeyValue> keys, long revision) {
        this.places = keys.stream()
                .filter(PermitLine::isPlace)
                .sorted(Comparator.comparingLong(KeyValue::getCreateRevision))
                .toList();
        this.others = keys.stream().filter(key -> !isPlace(key)).toList();
        this.revision = revision;
        this.line = new DemandLine(places.stream().map(EtcdValue::place).toList());
    }

    /** What the line says to an acquisition. */
    sealed interface Turn {
        /** There is room, and it has that slot. */
        record Held(int slot) implements Turn {}

        /** There is room, and that is the slot to take. */
        record Room(SlotChoice choice) implements Turn {}

        /**
         * There is none.
         *
         * @param choice what its key is to say instead of a slot; null if that is what it says, or may go on to say
         */
        record None(@Nullable SlotChoice choice) implements Turn {}

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
        return EtcdKeys.isLimit(endingOf(key));
    }

    private static boolean isPlace(KeyValue key) {
        return EtcdKeys.isPlace(endingOf(key));
    }

    private static String endingOf(KeyValue key) {
        return EtcdKeys.ending(key.getKey()).toString(StandardCharsets.UTF_8);
    }

    /** Whether there may be more holders than a transaction can compare. */
    static boolean isLarge(Demand.Permits asked) {
        return asked.limit() > MOST_COMPARED;
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
        List<KeyValue> rest = java.util.stream.Stream.concat(places.stream(), others.stream())
                .filter(key -> !EtcdKeys.ending(key.getKey()).equals(ending))
                .toList();
        return new PermitLine(rest, revision);
    }

    /** Whose turn is asked for. */
    interface Mine {
        AcquisitionId acquisition();

        /** Whether the key is its own. */
        boolean owns(KeyValue key);

        /** Whether it was granted with that revision and slot. */
        boolean isGranted(long createRevision, int slot);
    }

    Turn turnOf(Mine place) {
        Demand.Permits asked = (Demand.Permits) place.acquisition().demand();
        int index = indexOf(place);
        if (index < 0) {
            return new Turn.Gone();
        }
        int slot = EtcdValue.place(places.get(index)).slot();
        if (slot > 0 && place.isGranted(places.get(index).getCreateRevision(), slot)) {
            return new Turn.Held(slot);
        }
        KeyValue stored =
                others.stream().filter(PermitLine::isLimit).findFirst().orElse(null);
        int limit = stored == null ? asked.limit() : limitOf(stored);
        if (limit != asked.limit()) {
            return new Turn.OtherLimit(limit);
        }
        if (!line.hasRoom(index)) {
            List<Integer> because = line.leaveNoRoomFor(index);
            boolean keeps = slot == 0 || because.isEmpty() || because.size() > MOST_COMPARED;
            return new Turn.None(keeps ? null : choice(0, index, because));
        }
        if (line.hasSlot(index)) {
            return new Turn.Held(slot);
        }
        int lowest = line.slotFor(index);
        if (lowest > limit) {
            return new Turn.None(null); // while some are there who asked with another one
        }
        return new Turn.Room(
                isLarge(asked)
                        ? choice(lowest, places.get(index), stored)
                        : choice(lowest, index, line.restsOn(index)));
    }

    /** As many as there are, they fit: those ahead leave room, so they are fewer than permits. */
    private SlotChoice choice(int slot, int index, List<Integer> reasons) {
        return new SlotChoice(
                slot,
                places.get(index).getModRevision(),
                reasons.stream()
                        .map(places::get)
                        .map(key -> SlotChoice.isThere(key.getKey(), key.getCreateRevision()))
                        .toList());
    }

    /** Rests on that nobody has written a slot since, nor changed the limit. */
    private SlotChoice choice(int slot, KeyValue place, @Nullable KeyValue limit) {
        long written = others.stream()
                .filter(key -> !isLimit(key))
                .mapToLong(KeyValue::getModRevision)
                .max()
                .orElse(0);
        List<Cmp> conditions = new ArrayList<>();
        conditions.add(SlotChoice.isUnwritten(EtcdKeys.slotsBeside(place.getKey()), written));
        if (limit != null) {
            conditions.add(SlotChoice.isUnwritten(limit.getKey(), limit.getModRevision()));
        }
        return new SlotChoice(slot, place.getModRevision(), conditions);
    }

    private int indexOf(Mine place) {
        for (int i = 0; i < places.size(); i++) {
            if (place.owns(places.get(i))) {
                return i;
            }
        }
        return -1;
    }
}
