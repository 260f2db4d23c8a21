package dev.holdfast.examples.file;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Instant;
import java.util.Optional;

/**
 * What the file of a name says: the last grant, and until when it is held. Immutable.
 *
 * @param token the last token; 0 if there was no grant yet
 * @param owner whose it is, as text
 * @param endMillis when it ends, by the machine's wall clock, which all its processes share
 * @param sinceMillis when it was granted, by the same clock
 * @param identity its holder
 */
record LockRecord(long token, String owner, long endMillis, long sinceMillis, String identity) {
    static final LockRecord NONE = new LockRecord(0, "", 0, 0, "");

    boolean isHeld(long nowMillis) {
        return endMillis > nowMillis;
    }

    boolean isHeldBy(OwnerId anyone, long nowMillis) {
        return isHeld(nowMillis) && owner.equals(anyone.toString());
    }

    LockRecord until(long newEndMillis) {
        return new LockRecord(token, owner, newEndMillis, sinceMillis, identity);
    }

    LockRecord grantedTo(OwnerId newOwner, long nowMillis, long leaseMillis, Identity who) {
        return new LockRecord(token + 1, newOwner.toString(), nowMillis + leaseMillis, nowMillis, who.encoded());
    }

    Optional<HolderInfo> holder(long nowMillis) {
        if (!isHeld(nowMillis)) {
            return Optional.empty();
        }
        return Optional.of(Identity.decode(identity).holderInfo(token, Instant.ofEpochMilli(sinceMillis)));
    }

    String encoded() {
        return token + "\n" + owner + "\n" + endMillis + "\n" + sinceMillis + "\n" + identity + "\n";
    }

    static LockRecord decode(String text) {
        if (text.isEmpty()) {
            return NONE;
        }
        String[] parts = text.split("\n", 6);
        return new LockRecord(
                Long.parseLong(parts[0]), parts[1], Long.parseLong(parts[2]), Long.parseLong(parts[3]), parts[4]);
    }
}
