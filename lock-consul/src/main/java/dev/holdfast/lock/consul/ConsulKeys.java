package dev.holdfast.lock.consul;

import dev.holdfast.lock.spi.LockName;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The keys in Consul. A lock is {@code <prefix><name>}, with the name percent-encoded. The epoch of a session is {@code
 * <prefix>~<session>}; it exists only after an attempt without an answer. No encoded name contains a {@code ~}.
 *
 * @param prefix the start of all keys
 */
record ConsulKeys(String prefix) {
    private static final int MAX_PREFIX = 128;

    ConsulKeys {
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

    String lock(String name) {
        return prefix + LockName.percentEncoded(name);
    }

    String epoch(String session) {
        return prefix + "~" + session;
    }

    /** The path of a key in Consul's HTTP API. */
    static String path(String key) {
        return "/v1/kv/"
                + URLEncoder.encode(key, StandardCharsets.UTF_8)
                        .replace("%2F", "/")
                        .replace("+", "%20");
    }
}
