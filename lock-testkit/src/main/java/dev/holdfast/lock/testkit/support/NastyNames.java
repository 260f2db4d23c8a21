package dev.holdfast.lock.testkit.support;

import dev.holdfast.lock.spi.LockName;
import java.text.Normalizer;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;

/** Lock names that a careless store would confuse with each other, or stumble over. */
public final class NastyNames {
    private static final String ALPHABET =
            "aAbB01 /\\.:{}[]()*?%_-+'\"`;,#@!$&|<>=~^\t\n\u00e9\u00df\u0130\u0131\u03c3\u03c2\u4f60\u0301\u200b\ufeff\u202e";

    private NastyNames() {}

    /**
     * Returns distinct names, each of which is near to others in the list: by case, spaces, normal form, separators,
     * encodings and the special characters of the stores.
     */
    public static List<String> all() {
        Set<String> names = new LinkedHashSet<>(List.of(
                // separators, prefixes, suffixes
                "a",
                "a/b",
                "a/",
                "/a",
                "/",
                "a//b",
                "a/b/",
                "ab",
                "a.b",
                ".",
                "..",
                "...",
                "./a",
                "../a",
                "a/../b",
                "a:b",
                // case and spaces
                "A",
                "a ",
                " a",
                "a  ",
                "a\t",
                "a\n",
                "a\r\n",
                "a\u00a0",
                "a\u3000",
                "a b",
                // what the stores give a meaning to
                "{a}",
                "{a}b",
                "{b}a",
                "{}a",
                "a{",
                "a}",
                "a*",
                "a?",
                "[a]",
                "a[b]",
                "a%",
                "a_",
                "a%2Fb",
                "a%2fb",
                "%61",
                "%",
                "%00",
                "a\\",
                "a\\0",
                "\\",
                "a\\b",
                "a'",
                "a''",
                "a\"",
                "a`",
                "'; DROP TABLE locks; --",
                "a;b",
                "a--b",
                "$a",
                "${a}",
                "a$1",
                "a|b",
                "a&b",
                "a<b",
                "a=b",
                "a+b",
                "a#b",
                "a,b",
                "a~b",
                "KEYS[1]",
                "ARGV[1]",
                "redis.call",
                "]]",
                "return 1",
                "\u007f",
                "a\u0001",
                "a\u001b[0m",
                "null",
                "NULL",
                "0",
                "00",
                "-1",
                "1e0",
                "true",
                // suffixes that a store may use for itself
                "a:token",
                "a:fence",
                "a:queue",
                "a:waiters",
                "a-0000000001",
                "a/lock-0000000001",
                "lock-",
                // Unicode: normal forms, look-alikes, folding, order, width, outside the basic plane
                "\u00e9",
                "e\u0301",
                "\u00c9",
                "E\u0301",
                "\ufb01",
                "fi",
                "\u2126",
                "\u03a9",
                "\u00df",
                "ss",
                "SS",
                "\u1e9e",
                "\u0130",
                "i",
                "I",
                "\u0131",
                "\u03c3",
                "\u03c2",
                "\u03a3",
                "\u0430",
                "\uff41",
                "a\u200b",
                "a\u200d",
                "a\ufeff",
                "\ufeffa",
                "\u202ea",
                "a\u0301",
                "\u00e1",
                "\u4f60\u597d",
                "\ud83d\ude00",
                "\ud83d\ude01",
                "\ud83d\udc68\u200d\ud83d\udc69",
                "\ud834\udd1e",
                "\uffff",
                "\ufffd",
                "\ud800\udc00",
                "\udbff\udfff"));
        String longest = "x".repeat(511);
        names.add(longest + "a");
        names.add(longest + "b");
        names.add(longest + "A");
        names.add(longest);
        names.add("y" + "x".repeat(511));
        names.add("\ud83d\ude00".repeat(128));
        names.add("\ud83d\ude00".repeat(127) + "\ud83d\ude01");
        names.add("%".repeat(512));
        names.add("'".repeat(512));
        names.add("/".repeat(512));
        return List.copyOf(names);
    }

    /** Returns a name and another one that differs from it as little as possible. */
    public static Pair randomPair(Random random) {
        while (true) {
            String name = randomName(random);
            String near = changed(name, random);
            if (!near.equals(name) && isValid(name) && isValid(near)) {
                return new Pair(name, near);
            }
        }
    }

    private static String randomName(Random random) {
        StringBuilder name = new StringBuilder();
        int length = 1 + random.nextInt(random.nextInt(10) == 0 ? 120 : 8);
        for (int i = 0; i < length; i++) {
            if (random.nextInt(8) == 0) {
                int codePoint = 1 + random.nextInt(Character.MAX_CODE_POINT);
                name.appendCodePoint(codePoint >= 0xd800 && codePoint <= 0xdfff ? 'z' : codePoint);
            } else {
                name.append(ALPHABET.charAt(random.nextInt(ALPHABET.length())));
            }
        }
        return name.toString();
    }

    private static String changed(String name, Random random) {
        int at = name.offsetByCodePoints(0, random.nextInt(name.codePointCount(0, name.length()) + 1));
        return switch (random.nextInt(11)) {
            case 0 -> name.toUpperCase(Locale.ROOT);
            case 1 -> name.toLowerCase(Locale.ROOT);
            case 2 -> name + " ";
            case 3 -> " " + name;
            case 4 -> Normalizer.normalize(name, Normalizer.Form.NFD);
            case 5 -> Normalizer.normalize(name, Normalizer.Form.NFKC);
            case 6 -> name.substring(0, at) + '/' + name.substring(at);
            case 7 -> name.substring(0, at) + '\\' + name.substring(at);
            case 8 -> name.replace("/", "%2F").replace(" ", "%20");
            case 9 -> "{" + name + "}";
            default -> name.substring(0, at) + ALPHABET.charAt(random.nextInt(ALPHABET.length())) + name.substring(at);
        };
    }

    private static boolean isValid(String name) {
        try {
            LockName.requireValid(name);
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** Returns a name with its invisible characters visible. */
    public static String visible(String name) {
        StringBuilder text = new StringBuilder("'");
        name.codePoints().limit(40).forEach(c -> {
            if (c > 0x20 && c < 0x7f) {
                text.append((char) c);
            } else {
                text.append(String.format("\\u{%x}", c));
            }
        });
        return text.append("' (").append(name.length()).append(" characters)").toString();
    }

    /** Two distinct names. */
    public record Pair(String one, String other) {}
}
