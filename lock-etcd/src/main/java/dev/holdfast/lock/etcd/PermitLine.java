package dev.holdfast.lock.etcd;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.DemandLine;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;

/**
 * All keys of one name at one revision, as one who asks for permits sees them. Immutable.
 *
 * <p>A slot is written before it is known whether there is room, by the same transaction that reads the line, so that an
 * acquisition is one transaction where the first guess is right. A slot counts if there is room for its place: so who has found none
 * is in nobody's way.
 */
final class PermitLine {
    private final List<KeyValue> places;
    private final List<KeyValue> limits;
    private final long revision;
    private final DemandLine line;

    PermitLine(List<KeyValue> keys, long revision) {
        this.places = keys.stream()
                .filter(key -> !isLimit(key))
                .sorted(Comparator.comparingLong(KeyValue::getCreateRevision))
                .toList();
        this.limits = keys.stream().filter(PermitLine::isLimit).toList();
        this.revision = revision;
        this.line = new DemandLine(places.stream().map(EtcdValue::place).toList());
    }

    /** What the line says to an acquisition. */
    sealed interface Turn {
        /**
         * There is room.
         *
         * @param slot the lowest that it can have
         * @param hasSlot whether it has that one, or another that it may keep
         */
        record Room(int slot, boolean hasSlot) implements Turn {}

        /**
         * There is none.
         *
         * @param hasSlot whether its key says that it has a slot
         */
        record None(boolean hasSlot) implements Turn {}

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
        List<KeyValue> rest = java.util.stream.Stream.concat(places.stream(), limits.stream())
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
            return new Turn.Room(slot, true);
        }
        int limit = limits.isEmpty() ? asked.limit() : limitOf(limits.get(0));
        if (limit != asked.limit()) {
            return new Turn.OtherLimit(limit);
        }
        if (!line.hasRoom(index)) {
            return new Turn.None(slot > 0);
        }
        int lowest = line.slotFor(index);
        boolean keeps = slot == lowest || slot > 0 && line.mayKeepSlot(index);
        return new Turn.Room(keeps ? slot : lowest, keeps);
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
