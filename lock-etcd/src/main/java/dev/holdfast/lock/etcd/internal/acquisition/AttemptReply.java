package dev.holdfast.lock.etcd.internal.acquisition;

import io.etcd.jetcd.KeyValue;

/** The result of an attempt. */
public sealed interface AttemptReply {
    /**
     * The lock is held.
     *
     * @param revision the create revision of the key
     * @param slot of permits, else 0
     */
    record Held(long revision, int slot) implements AttemptReply {}

    /**
     * Another acquisition has the lock.
     *
     * @param ticket the keys to watch
     */
    record Queued(EtcdTicket ticket) implements AttemptReply {}

    /**
     * The name has another limit of permits.
     *
     * @param limit the stored limit
     */
    record OtherLimit(int limit) implements AttemptReply {}

    /** The key was not as the attempt expected. Its state is known now, and the attempt must be repeated. */
    record Changed() implements AttemptReply {}

    /**
     * The key has another acquisition's value, although no other acquisition may use it.
     *
     * @param present the key
     */
    record Taken(KeyValue present) implements AttemptReply {}

    /** A tombstone was there: the acquisition has ended. */
    record Ended() implements AttemptReply {}
}
