package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.LockBackend;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import java.time.Duration;
import java.util.List;

/** What tests of the inner packages use of this package's classes. */
public final class EtcdInternals {
    private EtcdInternals() {}

    public static ClientBuilder recommended(ClientBuilder builder, Duration callTimeout) {
        return EtcdLocks.recommended(builder, callTimeout);
    }

    public static ClientBuilder dedicated(ClientBuilder builder, Duration callTimeout) {
        return EtcdLocks.dedicated(builder, callTimeout);
    }

    /** The backend of an application's builder. */
    public static LockBackend backend(EtcdLocks.Builder builder) {
        return builder.backend();
    }

    /** A backend that closes the client with itself. */
    public static LockBackend owner(Client client, String prefix) {
        return owner(client, prefix, EtcdMode.QUEUE);
    }

    public static LockBackend owner(Client client, String prefix, EtcdMode mode) {
        return EtcdLocks.builder(new EtcdConnection(client, client::close))
                .prefix(prefix)
                .mode(mode)
                .backend();
    }

    /** The number of retained entries of acquisitions that have not ended. */
    public static int size(LockBackend backend) {
        return ((EtcdLockBackend) backend).size();
    }

    public static List<String> endpoints(String uri) {
        return EtcdUri.parse(uri).endpoints();
    }
}
