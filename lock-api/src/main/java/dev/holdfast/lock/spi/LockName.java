package dev.holdfast.lock.spi;

import dev.holdfast.lock.text.Printable;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Optional;

/** The rules for lock names, and an injective encoding for stores that allow only few characters. */
public final class LockName {

    /** The maximum length of a name, in bytes of UTF-8. */
    public static final int MAX_BYTES = 512;

    private static final char[] HEX = "0123456789ABCDEF".toCharArray();

    private LockName() {}

    /**
     * Checks a name: not blank, no NUL, no unpaired surrogate, at most {@value #MAX_BYTES} bytes of UTF-8.
     *
     * @param name the name
     * @return the name, unchanged
     * @throws IllegalArgumentException if the name breaks a rule; the message names the rule
     */
    public static String requireValid(String name) {
        Objects.requireNonNull(name, "lock name");
        if (name.isBlank()) {
            throw new IllegalArgumentException("lock name is blank; give it at least one visible character");
        }
        if (name.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("lock name '" + printable(name) + "' contains NUL; remove it");
        }
        int bytes = utf8(name).length;
        if (bytes > MAX_BYTES) {
            throw new IllegalArgumentException(
                    "lock name '" + printable(name.substring(0, name.offsetByCodePoints(0, 16))) + "…' has " + bytes
                            + " bytes of UTF-8, the limit is " + MAX_BYTES + "; shorten or hash it");
        }
        return name;
    }

    /**
     * Returns a name as shown in messages and logs. {@link dev.holdfast.lock.LockException} escapes its message itself; use
     * this method for other exceptions, logs and {@code toString}.
     *
     * @param name any text
     * @return the text with control, format and bidirectional characters escaped, so that it stays on one line
     */
    public static String printable(String name) {
        return Printable.of(name);
    }

    /**
     * Returns the name's bytes in UTF-8.
     *
     * @param name the name
     * @return its bytes
     * @throws IllegalArgumentException if the name has an unpaired surrogate
     */
    public static byte[] utf8(String name) {
        try {
            ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(name));
            byte[] bytes = new byte[encoded.remaining()];
            encoded.get(bytes);
            return bytes;
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException(
                    "lock name of " + name.length() + " characters has an unpaired surrogate; it is not valid Unicode",
                    e);
        }
    }

    /**
     * Encodes a name with only the characters {@code A-Z a-z 0-9 _ . - %}: every other byte of its UTF-8 form becomes {@code
     * %XX}, and so do the dots of a name that consists of dots only. Distinct names have distinct results.
     *
     * @param name a valid name
     * @return at most three times {@value #MAX_BYTES} characters; never empty, {@code .} or {@code ..}
     */
    public static String percentEncoded(String name) {
        byte[] bytes = utf8(name);
        boolean dots = name.chars().allMatch(c -> c == '.');
        StringBuilder text = new StringBuilder(bytes.length + 16);
        for (byte b : bytes) {
            boolean plain = b >= 'a' && b <= 'z'
                    || b >= 'A' && b <= 'Z'
                    || b >= '0' && b <= '9'
                    || b == '_'
                    || b == '-'
                    || b == '.' && !dots;
            if (plain) {
                text.append((char) b);
            } else {
                text.append('%').append(HEX[(b >> 4) & 0xf]).append(HEX[b & 0xf]);
            }
        }
        return text.toString();
    }

    /**
     * Decodes a name that {@link #percentEncoded} has encoded.
     *
     * @param encoded the encoded name
     * @return the name; empty if the text is not such an encoding
     */
    public static Optional<String> percentDecoded(String encoded) {
        try {
            String name = PercentCode.decode(encoded);
            return percentEncoded(name).equals(encoded) ? Optional.of(name) : Optional.empty();
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /**
     * Returns the common prefix of the encodings of all names with the given prefix.
     *
     * @param prefix a prefix of names, possibly empty
     * @return the longest prefix that all of these encodings share
     */
    public static String encodedPrefix(String prefix) {
        return prefix.chars().allMatch(c -> c == '.')
                ? ""
                : percentEncoded(prefix); // dots are encoded only if the name has no other characters
    }
}
