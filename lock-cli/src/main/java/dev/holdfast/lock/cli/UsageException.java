package dev.holdfast.lock.cli;

/** Options that do not fit each other. */
final class UsageException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        super(message);
    }
}
