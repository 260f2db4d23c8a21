package dev.holdfast.lock;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The checks that the option builders share. */
final class OptionRules {
    private static final Duration LONGEST_LEASE = Duration.ofHours(24);

    private OptionRules() {}

    static <T> T once(String what, @Nullable T before, T value) {
        Objects.requireNonNull(value, what);
        if (before != null) {
            throw new IllegalStateException(what + " was already set to " + before);
        }
        return value;
    }

    static Duration positive(String what, Duration value) {
        Objects.requireNonNull(value, what);
        if (value.isZero() || value.isNegative()) {
            throw new IllegalArgumentException(what + " must be positive, got " + value);
        }
        return value;
    }

    static Duration lease(Duration value) {
        positive("lease", value);
        if (value.compareTo(LONGEST_LEASE) > 0) {
            throw new IllegalArgumentException("lease must be at most 24 hours, got " + value
                    + "; use automatic renewal to hold a lock for longer");
        }
        if (value.toMillis() == 0) {
            throw new IllegalArgumentException("lease must be at least 1 ms, got " + value);
        }
        return value;
    }
}
