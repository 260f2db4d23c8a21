package dev.holdfast.lock.text;

import org.jspecify.annotations.Nullable;

/**
 * Escapes untrusted text (a lock's name, a holder's identity, a server's message) so that it is safe in one line of a
 * message. Line breaks and terminal escapes could forge log lines; bidirectional controls could reorder them.
 */
public final class Printable {
    private static final int HIGHEST_PLAIN = 0x7e;
    private static final String UNREADABLE = " (its message cannot be read)";

    private Printable() {}

    /**
     * Escapes unprintable characters.
     *
     * @param text any text
     * @return the same text if it has no such character. Otherwise controls, line and paragraph separators, format characters
     *     (including bidirectional controls) and unpaired surrogates are written as {@code \n}, {@code \r}, {@code \t}, or
     *     backslash, {@code u} and four hexadecimal digits
     */
    public static String of(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (isHidden(text, i)) {
                return escaped(text, i);
            }
        }
        return text;
    }

    /**
     * Escapes unprintable characters and truncates long text.
     *
     * @param text any text
     * @param longest the maximum number of characters of the text that are kept; positive
     * @return the escaped text, with an ellipsis if it was truncated
     */
    public static String of(String text, int longest) {
        if (text.length() <= longest) {
            return of(text);
        }
        int end = Character.isHighSurrogate(text.charAt(longest - 1)) ? longest - 1 : longest;
        return of(text.substring(0, end)) + "…";
    }

    /** Returns the class and the message of a failure. The message comes from foreign code, which may fail. */
    public static String ofFailure(Throwable failure) {
        try {
            return String.valueOf(failure);
        } catch (Throwable unreadable) {
            return failure.getClass().getName() + UNREADABLE;
        }
    }

    /** Returns the message of a failure, also if its {@code getMessage} fails; null if it has none. */
    public static @Nullable String messageOf(Throwable failure) {
        try {
            return failure.getMessage();
        } catch (Throwable unreadable) {
            return failure.getClass().getName() + UNREADABLE;
        }
    }

    private static String escaped(String text, int from) {
        StringBuilder escaped = new StringBuilder(text.length() + 16).append(text, 0, from);
        for (int i = from; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!isHidden(text, i)) {
                escaped.append(c);
            } else if (c == '\n') {
                escaped.append("\\n");
            } else if (c == '\r') {
                escaped.append("\\r");
            } else if (c == '\t') {
                escaped.append("\\t");
            } else {
                escaped.append(String.format("\\u%04x", (int) c));
            }
        }
        return escaped.toString();
    }

    private static boolean isHidden(String text, int index) {
        char c = text.charAt(index);
        if (c >= ' ' && c <= HIGHEST_PLAIN) {
            return false;
        }
        if (Character.isHighSurrogate(c)) {
            return index + 1 == text.length()
                    || !Character.isLowSurrogate(text.charAt(index + 1))
                    || isFormat(Character.toCodePoint(c, text.charAt(index + 1)));
        }
        if (Character.isLowSurrogate(c)) {
            return index == 0
                    || !Character.isHighSurrogate(text.charAt(index - 1))
                    || isFormat(Character.toCodePoint(text.charAt(index - 1), c));
        }
        return isFormat(c);
    }

    private static boolean isFormat(int codePoint) {
        return switch (Character.getType(codePoint)) {
            case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
    }
}
