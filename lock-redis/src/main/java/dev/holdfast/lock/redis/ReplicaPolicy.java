package dev.holdfast.lock.redis;

/** What happens to a grant that too few replicas acknowledged in time. */
public enum ReplicaPolicy {
    /** The grant is taken back and the attempt counts as failed: no lock rather than one that a failover may lose. */
    REFUSE,
    /** The grant stands, with a warning in the log: availability first. */
    DEGRADE
}
