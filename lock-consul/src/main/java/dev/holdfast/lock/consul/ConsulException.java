package dev.holdfast.lock.consul;

import java.io.IOException;

/** Consul answered with an unexpected status. */
final class ConsulException extends IOException {
    private static final long serialVersionUID = 1;
    private static final int MAX_LENGTH = 200;

    private final int status;

    ConsulException(int status, String body) {
        super(shortened(body));
        this.status = status;
    }

    int status() {
        return status;
    }

    /** Consul's message. */
    String text() {
        return String.valueOf(getMessage());
    }

    /**
     * Whether Consul refused the request before executing anything. A transaction that failed otherwise may have been
     * executed.
     */
    boolean changedNothing() {
        return status >= 400 && status < 500 && status != Reply.CONFLICT;
    }

    private static String shortened(String body) {
        String text = body.strip().replaceAll("\\p{Cntrl}+", " ");
        return text.length() <= MAX_LENGTH ? text : text.substring(0, MAX_LENGTH) + "…";
    }
}
