package dev.holdfast.lock.spi;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.HexFormat;

/**
 * The unguessable 128-bit identity of one acquisition. Renewal and release compare it, so that an acquisition cannot end
 * another one's grant. Immutable.
 *
 * @param high the upper 64 bits
 * @param low the lower 64 bits
 */
public record OwnerId(long high, long low) {
    private static final SecureRandom RANDOM = new SecureRandom();

    /**
     * Creates a new id.
     *
     * @return a random id
     */
    public static OwnerId random() {
        byte[] bytes = new byte[Long.BYTES * 2];
        RANDOM.nextBytes(bytes); // one call for both longs: each call takes a lock and hashes a block
        ByteBuffer bits = ByteBuffer.wrap(bytes);
        return new OwnerId(bits.getLong(), bits.getLong());
    }

    /**
     * Returns the id as text.
     *
     * @return 32 lower-case hexadecimal digits
     */
    @Override
    public String toString() {
        byte[] bytes =
                ByteBuffer.allocate(Long.BYTES * 2).putLong(high).putLong(low).array();
        return HexFormat.of().formatHex(bytes);
    }
}
