package dev.holdfast.lock.spring.boot;

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

    String description() {
        return description;
    }

    /** What to do about it. */
    String action() {
        return action;
    }
}
