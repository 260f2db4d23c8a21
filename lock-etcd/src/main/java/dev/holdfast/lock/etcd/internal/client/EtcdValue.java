package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.DemandLine;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The value of an acquisition's key: its owner, the time by the acquisition's own clock, for permits their number,
 * limit and slot (0: none), and its identity.
 */
public final class EtcdValue {
    private static final Pattern PERMITS = Pattern.compile("(\\d{1,7})/(\\d{1,7})/(\\d{1,7}) (.*)", Pattern.DOTALL);

    private EtcdValue() {}

    public static ByteSequence of(OwnerId owner, Identity identity) {
        return EtcdKeys.bytes(start(owner) + System.currentTimeMillis() + " " + identity.encoded());
    }

    /** The same with a slot; {@code value} is one that {@link #of} made. */
    public static ByteSequence ofPermits(ByteSequence value, Demand.Permits wanted, int slot) {
        String[] parts = value.toString(StandardCharsets.UTF_8).split(" ", 3);
        return EtcdKeys.bytes(parts[0] + " " + parts[1] + " " + wanted.permits() + "/" + wanted.limit() + "/" + slot
                + " " + parts[2]);
    }

    /** Replaces the slot in any client's value of permits; all other bytes stay the same. */
    public static ByteSequence withSlot(ByteSequence value, int slot) {
        String[] parts = value.toString(StandardCharsets.ISO_8859_1).split(" ", 4);
        parts[2] = parts[2].substring(0, parts[2].lastIndexOf('/') + 1) + slot;
        return ByteSequence.from(String.join(" ", parts), StandardCharsets.ISO_8859_1);
    }

    /** The common prefix of an acquisition's values, which no other acquisition has. */
    public static String start(OwnerId owner) {
        return owner + " ";
    }

    /** The demand of a key and its slot. An unknown value counts as an exclusive lock. */
    public static DemandLine.Place entry(KeyValue entry) {
        String ending = EtcdKeys.ending(entry.getKey()).toString(StandardCharsets.UTF_8);
        if (ending.startsWith(EtcdKeys.SHARE)) {
            return new DemandLine.Place(Demand.SHARED, 0);
        }
        String[] parts = parts(entry);
        Matcher permits = PERMITS.matcher(parts.length == 3 ? parts[2] : "");
        if (!ending.startsWith(EtcdKeys.PERMITS) || !permits.matches()) {
            return new DemandLine.Place(Demand.EXCLUSIVE, 0);
        }
        int count = number(permits, 1);
        int limit = number(permits, 2);
        return count < 1 || count > limit || limit > Demand.MAX_PERMITS
                ? new DemandLine.Place(Demand.EXCLUSIVE, 0)
                : new DemandLine.Place(new Demand.Permits(count, limit), number(permits, 3));
    }

    private static int number(Matcher matcher, int group) {
        return Integer.parseInt(matcher.group(group));
    }

    private static String[] parts(KeyValue entry) {
        return entry.getValue().toString(StandardCharsets.UTF_8).split(" ", 3);
    }

    /** Parses a key's value; an unknown value becomes the holder's {@code who}. */
    public static HolderInfo holder(KeyValue entry) {
        return info(entry, entry.getCreateRevision(), entry(entry));
    }

    /** The same for a waiter. */
    public static HolderInfo waiter(KeyValue entry) {
        return info(entry, 0, new DemandLine.Place(entry(entry).demand(), 0));
    }

    private static HolderInfo info(KeyValue entry, long token, DemandLine.Place place) {
        String[] parts = parts(entry);
        boolean ours = parts.length == 3 && parts[1].matches("\\d{1,15}");
        Instant since = Instant.ofEpochMilli(ours ? Long.parseLong(parts[1]) : 0);
        String who = ours ? parts[2] : entry.getValue().toString(StandardCharsets.UTF_8);
        if (place.demand() instanceof Demand.Permits) {
            who = who.substring(who.indexOf(' ') + 1);
        }
        Identity identity = ours ? Identity.decode(who) : new Identity(who, "", 0);
        return identity.holderInfo(token, since, place.demand(), place.slot());
    }
}
