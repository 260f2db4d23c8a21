package dev.holdfast.lock.jdbc.internal.guard;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Splits a statement into its words, as all supported databases read it. What they read differently, such as a backslash before
 * a quote, is refused.
 */
final class SqlTokens {
    /** One word: its text, where it begins and ends, and how many parentheses and CASE expressions are open around it. */
    record Token(String text, int start, int end, int depth) {

        boolean is(String keyword) {
            return text.equalsIgnoreCase(keyword);
        }

        /** Whether it names something; a keyword counts as a name. */
        boolean isName() {
            char first = text.charAt(0);
            return Character.isLetter(first) || first == '_' || first == '"' || first == '`';
        }

        /** The name without quotes, in lower case. */
        String name() {
            return text.replaceAll("[\"`]", "").toLowerCase(Locale.ROOT);
        }

        boolean isValue() {
            return text.equals("?");
        }

        boolean isFencingToken() {
            return text.equals(":token");
        }
    }

    private static final Pattern TOKEN = Pattern.compile(
            String.join(
                    "|",
                    "\\s+",
                    "--(?=\\s|$)[^\\n]*",
                    "/\\*(?![!M])(?:(?!/\\*|\\*/).)*\\*/",
                    "[eE]'(?:[^'\\\\]|''|\\\\.)*'",
                    "'(?:[^']|'')*'",
                    "\"(?:[^\"]|\"\")*\"",
                    "`(?:[^`]|``)*`",
                    ":token\\b",
                    "[\\p{L}_][\\p{L}\\p{N}_$#]*",
                    "[0-9][0-9A-Za-z_.]*",
                    "\\?\\?",
                    "::|<=|>=|<>|!=|\\|\\||&&|:=",
                    "[-+*/%<>=(),.?:;~!@^&|\\[\\]{}]"),
            Pattern.DOTALL);

    private static final Pattern LONE_RETURN = Pattern.compile("\\r(?!\\n)");

    /** Comments, strings and code, depending on the database: a word, and the character that follows it. */
    private static final Set<String> DIALECTS = Set.of("--", "/*", "q'", "Q'", "nq'", "NQ'");

    private SqlTokens() {}

    private static String following(String sql, int index) {
        return index < sql.length() ? sql.substring(index, index + 1) : "";
    }

    /**
     * Returns the words, without blanks and comments.
     *
     * @throws IllegalArgumentException if databases would not agree on them
     */
    static List<Token> of(String sql) {
        if (LONE_RETURN.matcher(sql).find()) {
            throw new IllegalArgumentException(
                    "databases read a carriage return without a line feed in different ways");
        }
        List<Token> tokens = new ArrayList<>();
        Matcher matcher = TOKEN.matcher(sql);
        int depth = 0;
        int end = 0;
        while (end < sql.length()) {
            if (!matcher.find(end) || matcher.start() != end) {
                throw new IllegalArgumentException("databases read '" + sql.charAt(end) + "' at character " + (end + 1)
                        + " in different ways; write it without");
            }
            String text = matcher.group();
            boolean quoted = text.charAt(0) == '\'' || text.charAt(0) == '"';
            if (quoted && text.matches("(?s).*\\\\+['\"].*")) {
                throw new IllegalArgumentException(
                        "databases read a backslash before a quote in different ways; pass the text as a parameter");
            }
            if (DIALECTS.contains(text + following(sql, matcher.end()))) {
                throw new IllegalArgumentException("databases read " + text + following(sql, matcher.end())
                        + " in different ways; write it without");
            }
            if (text.equals(")") || text.equalsIgnoreCase("END")) {
                depth--;
            }
            boolean blank = Character.isWhitespace(text.charAt(0)) || text.startsWith("--") || text.startsWith("/*");
            if (!blank) {
                tokens.add(new Token(text, end, matcher.end(), depth));
            }
            if (text.equals("(") || text.equalsIgnoreCase("CASE")) {
                depth++;
            }
            end = matcher.end();
        }
        return tokens;
    }
}
