package dev.holdfast.lock.spi;

import java.security.SecureRandom;

/**
 * The unguessable 128-bit identity of one acquisition. Renewal and release compare it, so that nobody ends a lock that
 * is not its own. Immutable.
 *
 * @param high the upper 64 bits
 * @param low the lower 64 bits
 */
public record OwnerId(long high, long low) {
    private static final SecureRandom RANDOM = new SecureRandom();

    /**
     * Makes a new id.
     *
     * @return a random id
     */
    public static OwnerId random() {
        return new OwnerId(RANDOM.nextLong(), RANDOM.nextLong());
    }

    /**
     * Returns the id as text.
     *
     * @return 32 lower-case hexadecimal digits
     */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(32);
        append(text, high);
        append(text, low);
        return text.toString();
    }

    private static void append(StringBuilder text, long bits) {
        for (int shift = 60; shift >= 0; shift -= 4) {
            text.append(Character.forDigit((int) (bits >>> shift) & 0xf, 16));
        }
    }
}
