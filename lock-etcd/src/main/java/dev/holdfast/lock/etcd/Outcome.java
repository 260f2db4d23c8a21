package dev.holdfast.lock.etcd;

import io.etcd.jetcd.KeyValue;

/** The result of an attempt. */
sealed interface Outcome {
    /**
     * The lock is held.
     *
     * @param revision the create revision of the key
     * @param slot of permits, else 0
     */
    record Held(long revision, int slot) implements Outcome {}

    /**
     * Another acquisition has the lock.
     *
     * @param ticket the keys to watch
     */
    record Queued(EtcdTicket ticket) implements Outcome {}

    /**
     * The name has another limit of permits.
     *
     * @param limit the stored limit
     */
    record OtherLimit(int limit) implements Outcome {}

    /** The key was not as the attempt expected. Its state is known now, and the attempt must be repeated. */
    record Changed() implements Outcome {}

    /**
     * The key has another acquisition's value, although no other acquisition may use it.
     *
     * @param present the key
     */
    record Taken(KeyValue present) implements Outcome {}

    /** A tombstone was there: the acquisition has ended. */
    record Ended() implements Outcome {}
}
