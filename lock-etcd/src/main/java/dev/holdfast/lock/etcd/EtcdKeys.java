package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.OwnerId;
import io.etcd.jetcd.ByteSequence;
import java.nio.charset.StandardCharsets;

/**
 * Where things are in etcd. Names are percent-encoded, so that neither {@code /} nor {@code ~} is in them: no two names
 * have keys in common, and no name meets the tombstones.
 *
 * @param prefix what all keys begin with
 */
record EtcdKeys(String prefix) {

    /** What the keys of a name's contenders begin with. */
    ByteSequence queue(String name) {
        return bytes(prefix + LockName.percentEncoded(name) + "/");
    }

    /** The key of one contender. */
    ByteSequence place(String name, QueueSlots.Slot slot) {
        return bytes(prefix + LockName.percentEncoded(name) + "/" + slot);
    }

    /** The one key of a name in {@link EtcdMode#SINGLE_KEY}. */
    ByteSequence single(String name) {
        return bytes(prefix + LockName.percentEncoded(name));
    }

    /** What keeps late attempts of an ended acquisition on that lease out. */
    ByteSequence tombstone(OwnerId owner, long leaseId) {
        return bytes(prefix + "~gone/" + owner + "/" + Long.toHexString(leaseId));
    }

    static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }
}
