package dev.holdfast.lock.micrometer;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockUsage;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

/** How many locks a client holds, and how many callers wait, by the tag. One look at the client serves a whole scrape. */
final class LockUsageGauges {
    private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final Count NOTHING = new Count(0, 0);

    private record Count(int held, int waiting) {
        Count plus(Count other) {
            return new Count(held + other.held, waiting + other.waiting);
        }
    }

    private record Look(long atNanos, Map<String, Count> counts) {}

    private final LockClient client;
    private final LockTags lockTags;
    private final Tags tags;
    private final MeterRegistry registry;
    private final RegisteredMeters meters;
    private final Set<String> shown = ConcurrentHashMap.newKeySet();
    private volatile Look latest;

    LockUsageGauges(LockClient client, LockTags lockTags, Tags tags, MeterRegistry registry, RegisteredMeters meters) {
        this.client = client;
        this.lockTags = lockTags;
        this.tags = tags;
        this.registry = registry;
        this.meters = meters;
        this.latest = look();
        latest.counts().keySet().forEach(this::show);
    }

    /** Registers the gauges of a value of the tag, if they are not yet. */
    void show(String tag) {
        if (!shown.contains(tag) && shown.add(tag)) {
            register("holdfast.lock.held", "Locks that this process holds", tag, Count::held);
            register("holdfast.lock.waiting", "Callers of this process that wait for a lock", tag, Count::waiting);
        }
    }

    private void register(String name, String description, String tag, ToDoubleFunction<Count> value) {
        meters.add(() -> Gauge.builder(name, this, gauges -> value.applyAsDouble(gauges.countOf(tag)))
                .description(description)
                .tags(tags.and("lock", tag))
                .strongReference(true)
                .register(registry));
    }

    private Count countOf(String tag) {
        Look last = latest;
        if (registry.config().clock().monotonicTime() - last.atNanos() >= FRESH_NANOS) {
            last = look();
            latest = last;
        }
        return last.counts().getOrDefault(tag, NOTHING);
    }

    private Look look() {
        Map<String, Count> counts = new HashMap<>();
        for (LockUsage usage : client.held()) {
            Count count = new Count(
                    usage.holder().isPresent() ? 1 : 0, usage.waiters().size());
            counts.merge(lockTags.of(usage.name()), count, Count::plus);
        }
        return new Look(registry.config().clock().monotonicTime(), counts);
    }
}
