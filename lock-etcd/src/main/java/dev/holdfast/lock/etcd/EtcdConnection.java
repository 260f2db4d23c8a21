package dev.holdfast.lock.etcd;

import io.etcd.jetcd.Client;

/**
 * A jetcd client and the action after the backend's close.
 *
 * @param client the client
 * @param afterClose closes the client if the backend owns it
 */
record EtcdConnection(Client client, Runnable afterClose) {}
