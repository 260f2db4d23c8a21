package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.OwnerId;
import io.etcd.jetcd.ByteSequence;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Where things are in etcd:
 *
 * <pre>
 * prefix name                        the one key of a name in the mode SINGLE_KEY
 * prefix ~queue/ name / number       the keys of a name's acquisitions in the mode QUEUE, of a lock
 * prefix ~queue/ name / p number     the same, of permits
 * prefix ~queue/ name / r number     the same, of a share
 * prefix ~queue/ name / ~limit-a     the limit of a name's permits, or ~limit-b
 * prefix ~gone/ owner /~ lease       tombstones
 * </pre>
 *
 * <p>Different pairs of prefix and name never meet, in either mode and across them, also where one prefix begins with
 * another. A prefix ends with {@code /} and has no {@code ~}; a name is percent-encoded and has neither. So a key without
 * {@code ~} is a single key, and its last {@code /} ends its prefix; in every other key the first {@code ~} does, what
 * follows it distinguishes queues from tombstones, and the next {@code /} ends the name.
 *
 * @param prefix what all keys begin with
 */
public record EtcdKeys(String prefix) {
    private static final int MAX_PREFIX = 128;

    /** First characters of the endings of permit and share keys; those of locks begin with a hexadecimal digit. */
    static final String PERMITS = "p";

    static final String SHARE = "r";
    private static final String LIMIT = "~limit-";

    public EtcdKeys {
        boolean valid = prefix.endsWith("/")
                && prefix.length() <= MAX_PREFIX
                && prefix.chars().noneMatch(c -> Character.isISOControl(c) || c == '~');
        if (!valid) {
            throw new IllegalArgumentException("prefix must have 1 to " + MAX_PREFIX
                    + " characters, the last of them '/', and no '~' or control characters, got '" + prefix + "'");
        }
    }

    /** The common prefix of a name's acquisition keys. */
    public ByteSequence queue(String name) {
        return bytes(prefix + "~queue/" + LockName.percentEncoded(name) + "/");
    }

    /** The key of one acquisition. */
    public ByteSequence acquisitionKey(AcquisitionId acquisition, ClientKeyPool.Slot slot) {
        String kind = switch (acquisition.demand().kind()) {
            case EXCLUSIVE -> "";
            case SHARED -> SHARE;
            case PERMITS -> PERMITS;
        };
        return bytes(prefix + "~queue/" + LockName.percentEncoded(acquisition.name()) + "/" + kind + slot);
    }

    /** The end, exclusive, of the keys of a name's acquisitions. */
    public ByteSequence queueEnd(String name) {
        return queue(name).concat(bytes("~"));
    }

    /** The end, exclusive, of those of locks and permits, which come first. */
    public ByteSequence sharesStart(String name) {
        return queue(name).concat(bytes(SHARE));
    }

    /** The two keys for the limit of a name's permits; at most one of them exists. */
    public List<ByteSequence> limits(String name) {
        return List.of(queue(name).concat(bytes(LIMIT + "a")), queue(name).concat(bytes(LIMIT + "b")));
    }

    /** The end, exclusive, of those two keys; they begin with the first of them. */
    public ByteSequence limitsEnd(String name) {
        return queue(name).concat(bytes(LIMIT + "c"));
    }

    /** Whether a key's {@link #ending} is that of a limit. */
    public static boolean isLimit(String ending) {
        return ending.startsWith(LIMIT);
    }

    /** The one key of a name in the mode {@code SINGLE_KEY}. */
    public ByteSequence single(String name) {
        return bytes(prefix + LockName.percentEncoded(name));
    }

    /** The tombstone that refuses late attempts of an ended acquisition on that lease. */
    public ByteSequence tombstone(OwnerId owner, long leaseId) {
        return bytes(prefix + "~gone/" + owner + "/~" + Long.toHexString(leaseId));
    }

    /**
     * The part after a key's last {@code /}, which is unique among the keys of one backend. A client's namespace does
     * not change it.
     */
    public static ByteSequence ending(ByteSequence key) {
        byte[] bytes = key.getBytes();
        int start = bytes.length;
        while (start > 0 && bytes[start - 1] != '/') {
            start--;
        }
        return ByteSequence.from(java.util.Arrays.copyOfRange(bytes, start, bytes.length));
    }

    public static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }
}
