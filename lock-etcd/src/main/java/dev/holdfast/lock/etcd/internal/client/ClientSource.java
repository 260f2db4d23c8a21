package dev.holdfast.lock.etcd.internal.client;

import io.etcd.jetcd.Client;
import java.util.function.Supplier;

/** The jetcd client for each call. Thread-safe. */
public interface ClientSource extends Supplier<Client> {
    /** Notes that a call had an answer. Called for each, so it must be cheap. */
    default void answered() {}

    /**
     * Notes that a call had no answer in time, or could not be sent because the thread of its connection has ended. Called on a
     * thread that must not wait.
     */
    default void unanswered() {}
}
