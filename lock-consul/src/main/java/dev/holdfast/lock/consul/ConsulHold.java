package dev.holdfast.lock.consul;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import org.jspecify.annotations.Nullable;

/**
 * A key that holds a lock while it has this index.
 *
 * @param acquisition the acquisition that holds the lock
 * @param session the session of the key
 * @param index the raft index of the transaction that created the key, and of its last change; the token
 */
record ConsulHold(AcquisitionId acquisition, ConsulSession session, long index) {

    /** The hold of a grant; null if the grant was not made by Consul or belongs to another acquisition. */
    static @Nullable ConsulHold of(Grant grant) {
        return grant.handle() instanceof ConsulHold hold
                        && hold.acquisition().equals(grant.acquisition())
                        && hold.index() == grant.token()
                ? hold
                : null;
    }
}
