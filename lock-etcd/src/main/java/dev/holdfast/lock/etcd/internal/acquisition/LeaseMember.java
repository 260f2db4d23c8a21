package dev.holdfast.lock.etcd.internal.acquisition;

import io.etcd.jetcd.ByteSequence;

/** An acquisition whose key is on a lease, or may be put on it by an unanswered write. */
public interface LeaseMember {

    /** Its key. */
    ByteSequence key();

    /** Whether its key must be kept although no grant renews the lease. */
    boolean isWaiting();
}
