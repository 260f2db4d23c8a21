package dev.holdfast.lock.micrometer;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Turns names into values of the tag {@code lock}, of which there is a bounded number: a lock named {@code orders/4711} must not
 * make a series for each order. Thread-safe.
 */
final class LockTags {
    static final String OTHER = "other";
    private static final int MAX_LENGTH = 100;

    private final Function<String, @Nullable String> tag;
    private final int limit;
    private final Set<String> known = ConcurrentHashMap.newKeySet();
    private final AtomicInteger places = new AtomicInteger();

    LockTags(Function<String, @Nullable String> tag, int limit) {
        this.tag = tag;
        this.limit = limit;
    }

    /** The name up to the first slash. */
    static String prefix(String name) {
        int slash = name.indexOf('/');
        return slash < 0 ? name : name.substring(0, slash);
    }

    /** The value for a name; never blank. */
    String of(String name) {
        String value = valueOf(name);
        if (value.equals(OTHER) || known.contains(value)) {
            return value;
        }
        if (places.get() >= limit) {
            return OTHER;
        }
        if (places.incrementAndGet() > limit) {
            places.decrementAndGet();
            return OTHER;
        }
        if (!known.add(value)) {
            places.decrementAndGet();
        }
        return value;
    }

    private String valueOf(String name) {
        String value;
        try {
            value = tag.apply(name);
        } catch (RuntimeException e) { // a faulty function must not falsify the sums
            return OTHER;
        }
        if (value == null || value.isBlank()) {
            return OTHER;
        }
        return value.length() <= MAX_LENGTH ? value : value.substring(0, MAX_LENGTH);
    }
}
