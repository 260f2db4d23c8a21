package dev.holdfast.lock.micrometer;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockUsage;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

/**
 * How often a client holds locks, and how many callers wait, by the tag and by the demand. One look at the client serves a whole
 * scrape. Gauges of readers and permits are there from the second scrape on after there was something to show.
 */
final class LockUsageGauges {
    private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final Count NOTHING = new Count(0, 0);
    private static final Count HOLDER = new Count(1, 0);
    private static final Count WAITER = new Count(0, 1);

    /** Identifies the gauges of one value of the tag. */
    private record Key(String tag, Demand.Kind demand) {}

    private record Count(int held, int waiting) {
        Count plus(Count other) {
            return new Count(held + other.held, waiting + other.waiting);
        }
    }

    private record Look(long atNanos, Map<Key, Count> counts) {}

    private final LockClient client;
    private final LockTags lockTags;
    private final Tags tags;
    private final MeterRegistry registry;
    private final RegisteredMeters meters;
    private final Set<Key> shown = ConcurrentHashMap.newKeySet();
    private volatile Look latest;

    LockUsageGauges(LockClient client, LockTags lockTags, Tags tags, MeterRegistry registry, RegisteredMeters meters) {
        this.client = client;
        this.lockTags = lockTags;
        this.tags = tags;
        this.registry = registry;
        this.meters = meters;
        this.latest = look();
    }

    /** Registers the gauges of a value of the tag, if they are not yet; those of readers and permits when there are any. */
    void show(String tag) {
        show(new Key(tag, Demand.Kind.EXCLUSIVE));
    }

    private void show(Key key) {
        if (!shown.contains(key) && shown.add(key)) {
            register("holdfast.lock.held", "Holders of locks in this process", key, Count::held);
            register("holdfast.lock.waiting", "Callers of this process that wait for a lock", key, Count::waiting);
        }
    }

    private void register(String name, String description, Key key, ToDoubleFunction<Count> value) {
        meters.add(Gauge.builder(name, this, gauges -> value.applyAsDouble(gauges.countOf(key)))
                .description(description)
                .tags(tags.and("lock", key.tag(), "demand", key.demand().name().toLowerCase(Locale.ROOT)))
                .strongReference(true));
    }

    private Count countOf(Key key) {
        Look last = latest;
        if (registry.config().clock().monotonicTime() - last.atNanos() >= FRESH_NANOS) {
            last = look();
            latest = last;
        }
        return last.counts().getOrDefault(key, NOTHING);
    }

    private Look look() {
        Map<Key, Count> counts = new HashMap<>();
        for (LockUsage usage : client.held()) {
            String tag = lockTags.of(usage.name());
            show(tag);
            usage.holders()
                    .forEach(holder -> counts.merge(new Key(tag, holder.demand().kind()), HOLDER, Count::plus));
            usage.waiters()
                    .forEach(waiter -> counts.merge(new Key(tag, waiter.demand().kind()), WAITER, Count::plus));
        }
        for (Key key : counts.keySet()) {
            show(key);
        }
        return new Look(registry.config().clock().monotonicTime(), counts);
    }
}
