package dev.holdfast.lock.engine;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs the losses of a client: one line for the first, and one summary of those within some seconds after it. */
final class LossWarnings {
    private final Logger log;
    private final String backendName;
    private final Warnings warnings;

    LossWarnings(String backendName, Timer timer) {
        this(LoggerFactory.getLogger(LossWarnings.class), backendName, timer);
    }

    LossWarnings(Logger log, String backendName, Timer timer) {
        this.log = log;
        this.backendName = backendName;
        this.warnings = new Warnings(timer, this::sumUp);
    }

    void warn(String name, @Nullable String message) {
        if (warnings.note(name, String.valueOf(message))) {
            log.warn("{}", message);
        } else {
            log.debug("{}", message);
        }
    }

    /** Logs the pending summary when the client closes. */
    void sumUp() {
        warnings.sumUp();
    }

    /** The number of lines that were logged. */
    int lines() {
        return warnings.lines();
    }

    private void sumUp(long count, String names, String latest) {
        log.warn(
                "lock client of {}: {} more leases were lost within {}, first those of {}; the latest: {}",
                backendName,
                count,
                Durations.text(Warnings.INTERVAL_NANOS),
                names,
                latest);
    }
}
