package dev.holdfast.lock.spring.boot;

/** A property has a value that the library refuses. */
final class InvalidPropertyException extends IllegalStateException {
    private final String property;
    private final String reason;

    InvalidPropertyException(String property, IllegalArgumentException cause) {
        super(property + ": " + cause.getMessage(), cause);
        this.property = property;
        this.reason = String.valueOf(cause.getMessage());
    }

    String property() {
        return property;
    }

    String reason() {
        return reason;
    }
}
