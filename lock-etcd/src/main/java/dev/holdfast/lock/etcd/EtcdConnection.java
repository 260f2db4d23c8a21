package dev.holdfast.lock.etcd;

import io.etcd.jetcd.Client;

/**
 * A jetcd client and what is to be done when the backend does not need it any more.
 *
 * @param client the client
 * @param afterClose closes the client if it is ours
 */
record EtcdConnection(Client client, Runnable afterClose) {}
