package dev.holdfast.lock.consul.internal.session;

import dev.holdfast.lock.spi.LockName;
import java.util.Arrays;
import java.util.regex.Pattern;

/**
 * The keys in Consul. A lock is {@code <prefix><name>}, with the name percent-encoded and {@code ,} for {@code %}. The
 * epoch of a session is {@code <prefix>~<session>}; it exists only after an attempt without an answer. No encoded name
 * contains a {@code ~}.
 *
 * <p>Consul 1.21.5 and newer refuse paths below {@code /v1/kv/} with other characters than {@code
 * [a-zA-Z0-9,_./\-?&=]}, and versions since 1.12 decode a {@code %} twice. Transactions have no such rules. So every key
 * of a lock is plain, unless the prefix is not, and only plain keys are put into a path.
 *
 * @param prefix the start of all keys
 */
public record ConsulKeys(String prefix) {
    private static final int MAX_PREFIX = 128;
    private static final Pattern PLAIN = Pattern.compile("[a-zA-Z0-9,_./=-]+");

    public ConsulKeys {
        boolean badSegment = Arrays.stream(prefix.split("/", -1))
                .limit(Math.max(1, prefix.chars().filter(c -> c == '/').count()))
                .anyMatch(segment -> segment.isEmpty() || segment.equals(".") || segment.equals(".."));
        if (prefix.length() > MAX_PREFIX
                || !prefix.endsWith("/")
                || badSegment
                || prefix.chars().anyMatch(c -> c <= ' ' || c == '~' || c >= 0x7f)) {
            throw new IllegalArgumentException(
                    "prefix '" + LockName.printable(prefix)
                            + "' is not 2 to 128 characters of ASCII that end with /, without blanks and ~, and without empty parts, . or ..");
        }
    }

    public String lock(String name) {
        return prefix + LockName.percentEncoded(name).replace('%', ',');
    }

    public String epoch(String session) {
        return prefix + "~" + session;
    }

    /** Whether all versions accept the key in a path. */
    public static boolean isPath(String key) {
        return PLAIN.matcher(key).matches();
    }

    /** The path of a plain key in Consul's HTTP API. */
    public static String path(String key) {
        return "/v1/kv/" + key;
    }
}
