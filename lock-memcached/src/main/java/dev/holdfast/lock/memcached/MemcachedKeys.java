package dev.holdfast.lock.memcached;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.lock.spi.LockName;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The keys below a prefix. A lock's key is its percent-encoded name. If that is longer than memcached allows, the key
 * is a tilde and the name's SHA-256. So no key has a blank or a control character. A percent-encoded name has no tilde,
 * so no hash equals a name. Immutable.
 *
 * @param prefix the start of all keys, which a colon follows
 */
record MemcachedKeys(String prefix) {
    private static final int MAX_BYTES = 250;

    MemcachedKeys {
        if (!prefix.matches("[A-Za-z0-9_.:/-]{1,128}")) {
            throw new IllegalArgumentException("the prefix must have 1 to 128 characters of A-Z a-z 0-9 _ . : / -");
        }
    }

    String lock(String name) {
        String key = prefix + ":" + LockName.percentEncoded(name);
        return key.length() <= MAX_BYTES ? key : prefix + ":~" + hash(name);
    }

    private static String hash(String name) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(name.getBytes(UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
