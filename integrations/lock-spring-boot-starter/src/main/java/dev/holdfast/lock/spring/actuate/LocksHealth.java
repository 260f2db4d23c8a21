package dev.holdfast.lock.spring.actuate;

import dev.holdfast.lock.LockClient;
import java.util.Map;
import java.util.TreeMap;

/** What health asks: one read of a holder from each client's store. Thread-safe. */
final class LocksHealth {
    /** Never acquired by an application. */
    static final String NAME = "holdfast/health";

    private final Map<String, LockClient> clients;

    LocksHealth(Map<String, LockClient> clients) {
        this.clients = new TreeMap<>(clients);
    }

    /**
     * Asks.
     *
     * @return the number of locks that are held here, by the client's bean
     * @throws dev.holdfast.lock.LockException if a store does not answer or refuses
     */
    Map<String, Long> check() {
        Map<String, Long> held = new TreeMap<>();
        clients.forEach((bean, client) -> {
            var unused = client.holder(NAME);
            held.put(
                    bean,
                    client.held().stream()
                            .filter(usage -> usage.holder().isPresent())
                            .count());
        });
        return held;
    }
}
