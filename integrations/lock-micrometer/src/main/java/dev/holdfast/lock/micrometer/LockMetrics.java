package dev.holdfast.lock.micrometer;

import dev.holdfast.lock.ClientStatus;
import dev.holdfast.lock.LockClient;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Binds the events and the state of one client to meters:
 *
 * <table>
 * <caption>Meters</caption>
 * <tr><th>meter</th><th>type</th><th>tags apart from {@code store}</th></tr>
 * <tr><td>{@code holdfast.lock.acquire}</td><td>timer of the wait</td><td>{@code lock}, {@code outcome}: {@code acquired},
 * {@code handed_off}, {@code busy}, {@code timeout}, {@code interrupted}, {@code unavailable}, {@code error}</td></tr>
 * <tr><td>{@code holdfast.lock.hold}</td><td>timer of the hold</td><td>{@code lock}, {@code outcome}: {@code released},
 * {@code lost}</td></tr>
 * <tr><td>{@code holdfast.lock.held}</td><td>gauge</td><td>{@code lock}, {@code demand}: {@code exclusive}, {@code shared},
 * {@code permits}</td></tr>
 * <tr><td>{@code holdfast.lock.waiting}</td><td>gauge</td><td>{@code lock}, {@code demand}</td></tr>
 * <tr><td>{@code holdfast.lock.renewals}</td><td>counter</td><td>{@code lock}, {@code outcome}: {@code renewed},
 * {@code suspect}</td></tr>
 * <tr><td>{@code holdfast.lock.lost}</td><td>counter</td><td>{@code lock}, {@code reason}</td></tr>
 * <tr><td>{@code holdfast.lock.releases.pending}</td><td>gauge</td><td></td></tr>
 * <tr><td>{@code holdfast.events.dropped}</td><td>counter</td><td></td></tr>
 * </table>
 *
 * <p>The tag {@code lock} is the name up to the first slash, or what {@link Builder#lockTag} makes of it, and has at most
 * {@link Builder#maxLockTags} values; further ones count as {@code other}. {@code store} is {@link ClientStatus#store()}. Two
 * clients of one store in one process need {@link Builder#tags} to be distinguished.
 *
 * <p>Meters are updated on the client's thread for events: the threads that lock pay for handing over the event, and no
 * request is sent. Thread-safe.
 */
public final class LockMetrics implements MeterBinder, AutoCloseable {
    private final LockClient client;
    private final LockTags lockTags;
    private final Tags tags;
    private final List<Binding> bindings = new CopyOnWriteArrayList<>();

    private record Binding(MeteredEvents listener, RegisteredMeters meters) {}

    private LockMetrics(Builder builder) {
        client = builder.client;
        lockTags = new LockTags(builder.lockTag, builder.maxLockTags);
        tags = Tags.of("store", client.status().store()).and(builder.tags);
    }

    /**
     * Makes the metrics of a client with the usual tags.
     *
     * @param client the client; not closed with the metrics
     * @return metrics that are not bound yet
     */
    public static LockMetrics of(LockClient client) {
        return builder(client).build();
    }

    /**
     * Returns a builder.
     *
     * @param client the client; not closed with the metrics
     * @return a new builder
     */
    public static Builder builder(LockClient client) {
        return new Builder(client);
    }

    /**
     * Registers the meters and begins to listen. Events from before are not counted.
     *
     * @param registry where the meters are registered; may be called for several registries
     */
    @Override
    public void bindTo(MeterRegistry registry) {
        RegisteredMeters meters = new RegisteredMeters(registry);
        LockUsageGauges gauges = new LockUsageGauges(client, lockTags, tags, registry, meters);
        MeteredEvents listener = new MeteredEvents(registry, lockTags, tags, gauges);
        meters.add(Gauge.builder(
                        "holdfast.lock.releases.pending",
                        client,
                        locks -> locks.status().pendingReleases())
                .description("Releases and abandonments that failed and are retried")
                .tags(tags));
        meters.add(FunctionCounter.builder(
                        "holdfast.events.dropped",
                        client,
                        locks -> locks.status().droppedEvents())
                .description("Events that were not told because a listener is too slow")
                .tags(tags));
        bindings.add(new Binding(listener, meters));
        client.addListener(listener);
    }

    /**
     * Stops listening, and removes the gauges and {@code holdfast.events.dropped} from the registries, since they would go on
     * showing this client in place of a successor with the same tags. Timers and other counters stay with their last values.
     * Close it before the successor's metrics are bound. Idempotent.
     */
    @Override
    public void close() {
        for (Binding binding : bindings) {
            client.removeListener(binding.listener());
            binding.meters().close();
        }
        bindings.clear();
    }

    /** Builds {@link LockMetrics}. Not thread-safe. */
    public static final class Builder {
        private static final int MAX_LOCK_TAGS = 100;

        private final LockClient client;
        private Function<String, @Nullable String> lockTag = LockTags::prefix;
        private int maxLockTags = MAX_LOCK_TAGS;
        private Tags tags = Tags.empty();

        private Builder(LockClient client) {
            this.client = Objects.requireNonNull(client, "client");
        }

        /**
         * Sets how the tag {@code lock} is made.
         *
         * @param lockTag from a lock's name to the value; a blank or null value, and an exception, count as {@code other};
         *     only the first 100 characters are used. Called on any thread
         * @return this
         */
        public Builder lockTag(Function<String, @Nullable String> lockTag) {
            this.lockTag = Objects.requireNonNull(lockTag, "lockTag");
            return this;
        }

        /**
         * Sets how many values the tag {@code lock} may have in addition to {@code other}.
         *
         * @param maxLockTags zero or more; default 100
         * @return this
         * @throws IllegalArgumentException if negative
         */
        public Builder maxLockTags(int maxLockTags) {
            if (maxLockTags < 0) {
                throw new IllegalArgumentException("maxLockTags must not be negative, got " + maxLockTags);
            }
            this.maxLockTags = maxLockTags;
            return this;
        }

        /**
         * Adds tags to every meter, such as the client's name where a process has several.
         *
         * @param tags the tags
         * @return this
         */
        public Builder tags(Iterable<Tag> tags) {
            this.tags = this.tags.and(tags);
            return this;
        }

        /**
         * Builds the metrics.
         *
         * @return metrics that are not bound yet
         */
        public LockMetrics build() {
            return new LockMetrics(this);
        }
    }
}
