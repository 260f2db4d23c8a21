package dev.holdfast.lock.spring.boot;

/** The application has no store for its locks, or more than one. */
final class StoreChoiceException extends IllegalStateException {
    private final String action;

    StoreChoiceException(String message, String action) {
        super(message);
        this.action = action;
    }

    /** What to do about it. */
    String action() {
        return action;
    }
}
