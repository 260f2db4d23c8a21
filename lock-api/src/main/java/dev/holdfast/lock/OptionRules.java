package dev.holdfast.lock;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The checks that the option builders share. */
final class OptionRules {
    private static final Duration MAX_LEASE = Duration.ofHours(24);

    private OptionRules() {}

    static <T> T given(String what, @Nullable T value) {
        return Objects.requireNonNull(value, what + " must not be null");
    }

    static <T> T or(@Nullable T value, T otherwise) {
        return value == null ? otherwise : value;
    }

    static <T> T once(String what, @Nullable T before, T value) {
        given(what, value);
        if (before != null) {
            throw new IllegalStateException(what + " was already set to " + before);
        }
        return value;
    }

    static Duration positive(String what, Duration value) {
        given(what, value);
        if (value.isZero() || value.isNegative()) {
            throw new IllegalArgumentException(what + " must be positive, got " + value);
        }
        return value;
    }

    static Duration notNegative(String what, Duration value) {
        if (given(what, value).isNegative()) {
            throw new IllegalArgumentException(what + " must not be negative, got " + value);
        }
        return value;
    }

    static Duration lease(Duration value) {
        positive("lease", value);
        if (value.compareTo(MAX_LEASE) > 0) {
            throw new IllegalArgumentException("lease must be at most 24 hours, got " + value
                    + "; use automatic renewal to hold a lock for longer");
        }
        if (value.toMillis() == 0) {
            throw new IllegalArgumentException("lease must be at least 1 ms, got " + value);
        }
        return value;
    }
}
