package dev.holdfast.lock.etcd.internal.client;

import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.grpc.ClientInterceptor;
import java.util.ArrayList;
import java.util.List;

/**
 * A jetcd client that only this library uses, with a connection of its own.
 *
 * @param jetcd the client
 * @param closeConnection ends its connection
 */
public record OwnClient(Client jetcd, Runnable closeConnection) implements AutoCloseable {
    /** Creates it, without connecting. */
    public static OwnClient open(ClientBuilder builder) {
        OwnChannel channel = OwnChannel.open(builder);
        List<ClientInterceptor> all = new ArrayList<>();
        all.add(channel); // comes after the builder's own
        all.addAll(builder.interceptors());
        return new OwnClient(builder.copy().interceptors(all).build(), channel::close);
    }

    /** Waits a moment for the end of its connection. */
    @Override
    public void close() {
        jetcd.close();
        closeConnection.run();
    }
}
