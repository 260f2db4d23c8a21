package dev.holdfast.lock.etcd;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fault.ForwardingBackend;
import io.etcd.jetcd.Client;
import java.time.Duration;

/**
 * A backend whose waiters ask again only when they are signalled, so that what is sent can be counted exactly; usually
 * they look by themselves every few seconds. Its calls may take a minute, for machines that are very busy.
 */
public final class SignalOnly extends ForwardingBackend {
    /** Nothing is given up early, no lease ends because a process did not run for a while, and none is renewed meanwhile. */
    public static final LockClientOptions OPTIONS = LockClientOptions.builder()
            .lockOptions(LockOptions.builder().lease(Duration.ofMinutes(10)).build())
            .requestTimeout(Duration.ofMinutes(1))
            .unavailableTimeout(Duration.ofMinutes(10))
            .build();

    private static final long NEVER_MILLIS = Duration.ofHours(1).toMillis();

    SignalOnly(LockBackend delegate) {
        super(delegate);
    }

    public static LockClient connect(String uri) {
        EtcdUri address = EtcdUri.parse(uri);
        String[] endpoints = address.endpoints().stream()
                .map(endpoint -> "http://" + endpoint)
                .toArray(String[]::new);
        Client client = EtcdLocks.dedicated(Client.builder().endpoints(endpoints), OPTIONS.requestTimeout())
                .keepaliveTimeout(OPTIONS.requestTimeout())
                .build();
        LockBackend backend = EtcdLocks.builder(new EtcdConnection(client, client::close))
                .prefix(address.parameter("prefix").orElse(EtcdLocks.DEFAULT_PREFIX))
                .backend();
        return LockEngine.client(new SignalOnly(backend), OPTIONS);
    }

    @Override
    public BackendInfo info() {
        return super.info().toBuilder()
                .pollMinMillis(NEVER_MILLIS)
                .pollMaxMillis(NEVER_MILLIS)
                .build();
    }
}
