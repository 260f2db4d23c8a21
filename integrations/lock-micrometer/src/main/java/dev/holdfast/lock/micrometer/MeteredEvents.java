package dev.holdfast.lock.micrometer;

import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LossReason;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Locale;

/** Counts the events of a client, on its thread for events. */
final class MeteredEvents implements LockListener {
    private final LockTags lockTags;
    private final LockUsageGauges gauges;
    private final Meter.MeterProvider<Timer> acquire;
    private final Meter.MeterProvider<Timer> hold;
    private final Meter.MeterProvider<Counter> renewals;
    private final Meter.MeterProvider<Counter> lost;

    /**
     * Creates the listener.
     *
     * @param gauges shows each value of the tag; asked as often as it is used
     */
    MeteredEvents(MeterRegistry registry, LockTags lockTags, Tags tags, LockUsageGauges gauges) {
        this.lockTags = lockTags;
        this.gauges = gauges;
        acquire = Timer.builder("holdfast.lock.acquire")
                .description("The wait for a lock, by how it ended")
                .tags(tags)
                .withRegistry(registry);
        hold = Timer.builder("holdfast.lock.hold")
                .description("How long locks were held, by how that ended")
                .tags(tags)
                .withRegistry(registry);
        renewals = Counter.builder("holdfast.lock.renewals")
                .description("Leases that were renewed, and renewals that failed")
                .tags(tags)
                .withRegistry(registry);
        lost = Counter.builder("holdfast.lock.lost")
                .description("Leases that ended without a release")
                .tags(tags)
                .withRegistry(registry);
    }

    private String tag(String name) {
        String tag = lockTags.of(name);
        gauges.show(tag);
        return tag;
    }

    @Override
    public void attempted(String name) {
        tag(name);
    }

    @Override
    public void acquired(String name, long token, Duration waited, boolean handedOff) {
        acquire.withTags("lock", tag(name), "outcome", handedOff ? "handed_off" : "acquired")
                .record(waited);
    }

    @Override
    public void gaveUp(String name, Duration waited, AttemptOutcome outcome) {
        acquire.withTags("lock", tag(name), "outcome", outcome(outcome)).record(waited);
    }

    private static String outcome(AttemptOutcome outcome) {
        return switch (outcome) {
            case BUSY -> "busy";
            case TIMEOUT -> "timeout";
            case INTERRUPTED, CANCELLED -> "interrupted";
            case UNAVAILABLE -> "unavailable";
            case REFUSED, CLOSED -> "error";
        };
    }

    @Override
    public void released(String name, long token, Duration held) {
        hold.withTags("lock", tag(name), "outcome", "released").record(held);
    }

    @Override
    public void renewed(String name, long token) {
        renewals.withTags("lock", tag(name), "outcome", "renewed").increment();
    }

    @Override
    public void suspect(String name, long token, String detail) {
        renewals.withTags("lock", tag(name), "outcome", "suspect").increment();
    }

    @Override
    public void lost(String name, long token, Duration held, LossReason reason) {
        String tag = tag(name);
        hold.withTags("lock", tag, "outcome", "lost").record(held);
        lost.withTags("lock", tag, "reason", reason.name().toLowerCase(Locale.ROOT))
                .increment();
    }
}
