package dev.holdfast.lock.etcd;

/** What the reply to an attempt says. */
sealed interface Outcome {

    /**
     * The lock is held.
     *
     * @param revision the create revision of the key
     * @param leaseId the lease that the key is on, 0 for the attempt's own
     */
    record Held(long revision, long leaseId) implements Outcome {}

    /**
     * Somebody else has it.
     *
     * @param ticket what to watch
     */
    record Queued(EtcdTicket ticket) implements Outcome {}

    /** A tombstone was there: the acquisition has ended. */
    record Ended() implements Outcome {}
}
