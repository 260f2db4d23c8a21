package dev.holdfast.lock.etcd;

import io.etcd.jetcd.KeyValue;

/** What the answer to an attempt says. */
sealed interface Outcome {
    /**
     * The lock is held.
     *
     * @param revision the create revision of the key
     * @param slot of permits, else 0
     */
    record Held(long revision, int slot) implements Outcome {}

    /**
     * Somebody else has it.
     *
     * @param ticket what to watch
     */
    record Queued(EtcdTicket ticket) implements Outcome {}

    /**
     * The permits are of another limit.
     *
     * @param limit the stored one
     */
    record OtherLimit(int limit) implements Outcome {}

    /** The key is not as the attempt expected, which is known now: the attempt is to be repeated. */
    record Changed() implements Outcome {}

    /**
     * The key that nobody should be using has another acquisition's value.
     *
     * @param present how it is
     */
    record Taken(KeyValue present) implements Outcome {}

    /** A tombstone was there: the acquisition has ended. */
    record Ended() implements Outcome {}
}
