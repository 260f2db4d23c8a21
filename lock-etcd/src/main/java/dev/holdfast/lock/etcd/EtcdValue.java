package dev.holdfast.lock.etcd;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/** What an acquisition's key holds: its owner, the time by the acquisition's own clock, and who it is. For people. */
final class EtcdValue {

    private EtcdValue() {}

    static ByteSequence of(OwnerId owner, Identity identity) {
        return EtcdKeys.bytes(owner + " " + System.currentTimeMillis() + " " + identity.encoded());
    }

    /** Reads a key's value; whatever else is found there becomes the holder's {@code who}. */
    static HolderInfo holder(KeyValue entry) {
        String text = entry.getValue().toString(StandardCharsets.UTF_8);
        String[] parts = text.split(" ", 3);
        boolean ours = parts.length == 3 && parts[1].matches("\\d{1,15}");
        Instant since = Instant.ofEpochMilli(ours ? Long.parseLong(parts[1]) : 0);
        Identity identity = ours ? Identity.decode(parts[2]) : new Identity(text, "", 0);
        return identity.holderInfo(entry.getCreateRevision(), since);
    }
}
