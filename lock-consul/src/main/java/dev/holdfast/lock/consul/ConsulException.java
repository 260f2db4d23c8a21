package dev.holdfast.lock.consul;

import java.io.IOException;

/** Consul answered with a status that the request does not expect. */
final class ConsulException extends IOException {
    private static final long serialVersionUID = 1;
    private static final int LONGEST = 200;

    private final int status;

    ConsulException(int status, String body) {
        super(shortened(body));
        this.status = status;
    }

    int status() {
        return status;
    }

    /** What Consul said. */
    String said() {
        return String.valueOf(getMessage());
    }

    /** Whether Consul has refused the request before it did anything; not known of a transaction that failed somehow. */
    boolean changedNothing() {
        return status >= 400 && status < 500 && status != Reply.CONFLICT;
    }

    private static String shortened(String body) {
        String text = body.strip().replaceAll("\\p{Cntrl}+", " ");
        return text.length() <= LONGEST ? text : text.substring(0, LONGEST) + "…";
    }
}
