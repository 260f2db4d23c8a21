package dev.holdfast.lock.spi.support;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** Percent-decoding without guesses: what is not exact is refused, since a password guessed wrong locks its user out. */
public final class PercentCode {
    private PercentCode() {}

    /**
     * Decodes percent-encoded text.
     *
     * @param text the encoded text
     * @return the text, which is UTF-8
     * @throws IllegalArgumentException if a percent sign is not followed by two hexadecimal digits, or the result is not
     *     UTF-8; the message does not repeat the text
     */
    public static String decode(String text) {
        int percent = text.indexOf('%');
        if (percent < 0) {
            return text;
        }
        ByteBuffer bytes = ByteBuffer.allocate(3 * text.length());
        int from = 0;
        for (; percent >= 0; percent = text.indexOf('%', from)) {
            bytes.put(text.substring(from, percent).getBytes(StandardCharsets.UTF_8));
            from = percent + 3;
            if (from > text.length()
                    || !HexFormat.isHexDigit(text.charAt(percent + 1))
                    || !HexFormat.isHexDigit(text.charAt(percent + 2))) {
                throw new IllegalArgumentException(
                        "a % is not followed by two hexadecimal digits; write the sign itself as %25");
            }
            bytes.put((byte) HexFormat.fromHexDigits(text, percent + 1, from));
        }
        bytes.put(text.substring(from).getBytes(StandardCharsets.UTF_8));
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(bytes.flip()).toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("its percent signs do not decode to UTF-8", e);
        }
    }
}
