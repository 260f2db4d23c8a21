package dev.holdfast.lock.spring.boot;

import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The application has no store for its locks, or more than one, or a property with a value that the library refuses. */
final class RefusedConfigurationException extends IllegalStateException {
    private final String description;
    private final String action;

    RefusedConfigurationException(String description, String action) {
        super(description);
        this.description = description;
        this.action = action;
    }

    private RefusedConfigurationException(String property, IllegalArgumentException cause) {
        super(property + ": " + cause.getMessage(), cause);
        this.description = "The value of " + property + " is not acceptable: " + cause.getMessage() + ".";
        this.action = "Correct " + property + ".";
    }

    static RefusedConfigurationException of(String property, IllegalArgumentException cause) {
        return new RefusedConfigurationException(property, cause);
    }

    /** Refuses a value that is not one of the property's type, and says what is. */
    static RefusedConfigurationException of(
            String property, @Nullable Object value, Class<?> type, @Nullable Throwable cause) {
        return new RefusedConfigurationException(
                property,
                new IllegalArgumentException(
                        "it must be " + allowed(type) + (value == null ? "" : ", but is '" + value + "'"), cause));
    }

    private static String allowed(Class<?> type) {
        if (type == Boolean.class || type == boolean.class) {
            return "true or false (or on or off, yes or no, 1 or 0)";
        }
        if (type == Integer.class || type == int.class) {
            return "a whole number from " + Integer.MIN_VALUE + " to " + Integer.MAX_VALUE;
        }
        if (type == Duration.class) {
            return "a duration, such as 5s, 500ms or PT5S";
        }
        if (type.isEnum()) {
            return "one of "
                    + Arrays.stream(type.getEnumConstants())
                            .map(constant -> ((Enum<?>) constant)
                                    .name()
                                    .toLowerCase(Locale.ROOT)
                                    .replace('_', '-'))
                            .collect(Collectors.joining(", "));
        }
        return "a group of properties below it, each with a value of its own";
    }

    String description() {
        return description;
    }

    /** What to do about it. */
    String action() {
        return action;
    }
}
