package dev.holdfast.lock.spring.metrics;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.micrometer.LockMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** The meters of all clients; if there are several, the tag {@code client} has the name of the bean. */
final class LockClientsMetrics implements MeterBinder, AutoCloseable {
    private final Map<String, LockClient> clients;
    private final int maxNames;
    private final List<LockMetrics> bound = new CopyOnWriteArrayList<>();

    LockClientsMetrics(Map<String, LockClient> clients, int maxNames) {
        this.clients = Map.copyOf(clients);
        this.maxNames = maxNames;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        for (Map.Entry<String, LockClient> client : clients.entrySet()) {
            LockMetrics metrics = LockMetrics.builder(client.getValue())
                    .maxLockTags(maxNames)
                    .tags(clients.size() == 1 ? Tags.empty() : Tags.of("client", client.getKey()))
                    .build();
            bound.add(metrics);
            metrics.bindTo(registry);
        }
    }

    /** Ends the meters with the application, as its registry may outlive it. */
    @Override
    public void close() {
        for (LockMetrics metrics : bound) {
            metrics.close();
        }
        bound.clear();
    }
}
