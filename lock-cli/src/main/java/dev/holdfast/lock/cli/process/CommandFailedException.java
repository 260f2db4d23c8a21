package dev.holdfast.lock.cli.process;

import org.jspecify.annotations.Nullable;

/** A program could not be started. */
public final class CommandFailedException extends Exception {
    private static final long serialVersionUID = 1L;
    private static final int NOT_EXECUTABLE = 126;
    private static final int NOT_FOUND = 127;

    /** What a shell would return. */
    private final int status;

    CommandFailedException(String command, Throwable cause) {
        super("cannot run " + command + ": " + reason(cause.getMessage()), cause);
        status = String.valueOf(cause.getMessage()).contains("error=2,") ? NOT_FOUND : NOT_EXECUTABLE;
    }

    private static String reason(@Nullable String message) {
        String text = String.valueOf(message);
        int at = text.indexOf("error=");
        return at < 0 ? text : text.substring(text.indexOf(' ', at) + 1);
    }

    /**
     * The exit status that a shell has for it.
     *
     * @return 127 if there is no such command, otherwise 126
     */
    public int status() {
        return status;
    }
}
