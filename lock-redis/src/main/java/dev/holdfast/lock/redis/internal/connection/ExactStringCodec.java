package dev.holdfast.lock.redis.internal.connection;

import io.lettuce.core.codec.StringCodec;
import java.nio.charset.StandardCharsets;

/**
 * UTF-8, with the exact length of what it is about to write: the client then writes each argument straight into the
 * command instead of into a buffer of its own first, of which an attempt would need thirteen. Stateless, thread-safe.
 *
 * <p>Only for strings without unpaired surrogates: a length that is not exact would break the connection.
 */
final class ExactStringCodec extends StringCodec {
    static final ExactStringCodec INSTANCE = new ExactStringCodec();

    private ExactStringCodec() {
        super(StandardCharsets.UTF_8);
    }

    @Override
    public boolean isEstimateExact() {
        return true;
    }

    @Override
    public int estimateSize(Object keyOrValue) {
        String text = (String) keyOrValue;
        int length = text.length();
        int bytes = length;
        for (int i = 0; i < length; i++) {
            char c = text.charAt(i);
            if (c >= 0x80) {
                // Two surrogates are four bytes, two for each.
                bytes += c < 0x800 || Character.isSurrogate(c) ? 1 : 2;
            }
        }
        return bytes;
    }
}
