package dev.holdfast.lock.etcd;

import dev.holdfast.lock.etcd.internal.client.ClientSource;
import io.etcd.jetcd.Client;

/**
 * A jetcd client and the action after the backend's close.
 *
 * @param client the client for the next call
 * @param afterClose closes the client if the backend owns it
 */
record EtcdConnection(ClientSource client, Runnable afterClose) {
    EtcdConnection(Client client, Runnable afterClose) {
        this(() -> client, afterClose);
    }
}
