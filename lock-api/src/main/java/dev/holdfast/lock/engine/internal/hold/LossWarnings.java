package dev.holdfast.lock.engine.internal.hold;

import dev.holdfast.lock.engine.internal.runtime.Durations;
import dev.holdfast.lock.engine.internal.runtime.Timer;
import dev.holdfast.lock.engine.internal.runtime.Warnings;
import dev.holdfast.lock.spi.support.BackgroundLog;
import org.jspecify.annotations.Nullable;

/** Logs the losses of a client: one line for the first, and one summary of those within some seconds after it. */
public final class LossWarnings {
    private final BackgroundLog log;
    private final String backendName;
    private final Warnings warnings;

    public LossWarnings(String backendName, Timer timer) {
        this(BackgroundLog.of(LossWarnings.class), backendName, timer);
    }

    public LossWarnings(BackgroundLog log, String backendName, Timer timer) {
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

    /** Logs the pending summary when the client closes; later losses are logged at once. */
    public void close() {
        warnings.close();
    }

    /** The number of lines that were logged. */
    public int lines() {
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
