package dev.holdfast.lock.etcd;

import io.etcd.jetcd.Client;
import java.util.function.Supplier;

/**
 * A jetcd client and the action after the backend's close.
 *
 * @param client the client for the next call
 * @param afterClose closes the client if the backend owns it
 */
record EtcdConnection(Supplier<Client> client, Runnable afterClose) {
    EtcdConnection(Client client, Runnable afterClose) {
        this(() -> client, afterClose);
    }
}
