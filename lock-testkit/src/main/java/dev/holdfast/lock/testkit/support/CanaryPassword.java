package dev.holdfast.lock.testkit.support;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;

/**
 * A random password with the characters that end a part of an address; tests recognise every piece of it wherever it
 * appears. Immutable.
 *
 * @param text the password
 * @param pieces what stands between its separators; none of them occurs by chance
 */
public record CanaryPassword(String text, List<String> pieces) {
    private static final String SEPARATORS = "/?#@;,:%&=()";
    private static final String LETTERS = "QXZJKVWYqxzjkvwy";

    /**
     * Makes a password.
     *
     * @param text as above
     * @param pieces copied
     */
    public CanaryPassword {
        pieces = List.copyOf(pieces);
    }

    /**
     * Makes a password.
     *
     * @param random where it comes from
     * @return two to five pieces of six letters with one to three separators between them
     */
    public static CanaryPassword random(Random random) {
        StringBuilder text = new StringBuilder();
        List<String> pieces = new ArrayList<>();
        for (int left = 2 + random.nextInt(4); left > 0; left--) {
            StringBuilder piece = new StringBuilder();
            for (int i = 0; i < 6; i++) {
                piece.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
            }
            pieces.add(piece.toString());
            text.append(piece);
            for (int i = left == 1 ? 0 : 1 + random.nextInt(3); i > 0; i--) {
                text.append(SEPARATORS.charAt(random.nextInt(SEPARATORS.length())));
            }
        }
        return new CanaryPassword(text.toString(), pieces);
    }

    /**
     * Returns the password as it must be written in an address.
     *
     * @return every character but letters percent-encoded
     */
    public String encoded() {
        StringBuilder encoded = new StringBuilder();
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            if (Character.isLetter(b)) {
                encoded.append((char) b);
            } else {
                encoded.append(String.format("%%%02X", b));
            }
        }
        return encoded.toString();
    }

    /**
     * Tells whether a text gives away a piece of the password.
     *
     * @param said a message, a stack trace or a log
     * @return whether any piece occurs, whatever its case, or the hexadecimal form of its bytes
     */
    public boolean showsIn(String said) {
        String lower = said.toLowerCase();
        return pieces.stream().anyMatch(piece -> lower.contains(piece.toLowerCase()) || lower.contains(hex(piece)));
    }

    private static String hex(String piece) {
        return HexFormat.of().formatHex(piece.getBytes(StandardCharsets.UTF_8));
    }
}
