package dev.holdfast.lock.consul.internal.acquisition;

import dev.holdfast.lock.consul.internal.http.ConsulHttp;
import dev.holdfast.lock.consul.internal.http.RequestGate;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.spi.Subscription;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Has one {@link KeyWatch} for each name that this client waits for. Thread-safe; never blocks. */
final class KeyWatchRegistry {
    private final ConsulHttp http;
    private final KeyLooks looks;
    private final ConsulKeys keys;
    private final RequestGate blocking = new RequestGate(ConsulHttp.BLOCKING_AT_ONCE);
    private final Map<String, KeyWatch> byName = new ConcurrentHashMap<>();

    KeyWatchRegistry(ConsulHttp http, KeyLooks looks, ConsulKeys keys) {
        this.http = http;
        this.looks = looks;
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

    /** During a lock-delay waiters poll, and need no notification. */
    void delayed(String name, long millis) {
        KeyWatch watch = byName.get(name);
        if (watch != null) {
            watch.beQuiet(millis);
        }
    }

    private KeyWatch watch(String name) {
        return new KeyWatch(
                keys.lock(name),
                http,
                looks,
                blocking,
                () -> byName.computeIfPresent(name, (key, watch) -> watch.hasEnded() ? null : watch));
    }

    /** The number of names that have waiters, for tests. */
    int size() {
        return byName.size();
    }
}
