package dev.holdfast.lock.consul;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import org.jspecify.annotations.Nullable;

/**
 * A key that holds a lock, as long as it has this index.
 *
 * @param acquisition whose it is
 * @param session on which it is
 * @param index the raft index of the transaction that made it, and of its last change; the token
 */
record ConsulHold(AcquisitionId acquisition, ConsulSession session, long index) {

    /** The hold behind a grant; null if the grant is not of Consul, or is somebody else's. */
    static @Nullable ConsulHold of(Grant grant) {
        return grant.handle() instanceof ConsulHold hold
                        && hold.acquisition().equals(grant.acquisition())
                        && hold.index() == grant.token()
                ? hold
                : null;
    }
}
