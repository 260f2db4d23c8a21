package dev.holdfast.lock.spring.boot;

/** A property has a value that the library refuses. */
final class InvalidPropertyException extends IllegalStateException {
    private final String property;

    InvalidPropertyException(String property, IllegalArgumentException cause) {
        super(property + ": " + cause.getMessage(), cause);
        this.property = property;
    }

    String property() {
        return property;
    }
}
