package dev.holdfast.lock.consul;

import dev.holdfast.lock.spi.Subscription;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Has one {@link KeyWatch} for each name that this client waits for. Thread-safe; never blocks. */
final class KeyWatches {
    /**
     * By default an agent accepts 200 concurrent connections of one client, and each blocking query without TLS needs
     * its own.
     */
    private static final int BLOCKING_AT_ONCE = 64;

    private final ConsulHttp http;
    private final ConsulKeys keys;
    private final RequestGate blocking = new RequestGate(BLOCKING_AT_ONCE);
    private final Map<String, KeyWatch> byName = new ConcurrentHashMap<>();

    KeyWatches(ConsulHttp http, ConsulKeys keys) {
        this.http = http;
        this.keys = keys;
    }

    Subscription subscribe(String name, Runnable onMaybeFree) {
        while (true) {
            Subscription subscription =
                    byName.computeIfAbsent(name, this::watch).add(onMaybeFree);
            if (subscription != null) {
                return subscription;
            }
            byName.computeIfPresent(name, (key, watch) -> watch.hasEnded() ? null : watch);
        }
    }

    private KeyWatch watch(String name) {
        return new KeyWatch(
                keys.lock(name),
                http,
                blocking,
                () -> byName.computeIfPresent(name, (key, watch) -> watch.hasEnded() ? null : watch));
    }

    /** The number of names that have waiters, for tests. */
    int size() {
        return byName.size();
    }
}
