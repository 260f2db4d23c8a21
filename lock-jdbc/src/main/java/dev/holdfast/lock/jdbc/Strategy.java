package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The statements of a lock that is a row with an expiry. Each method is one transaction, and may be called again after a
 * conflict. Immutable.
 */
interface Strategy {
    AcquireResult tryAcquire(Connection connection, AcquireRequest request) throws SQLException;

    void abandon(Connection connection, AcquisitionId acquisition) throws SQLException;

    /** Returns the owners that were renewed. */
    Set<OwnerId> renew(Connection connection, List<Grant> grants) throws SQLException;

    Released release(Connection connection, Grant grant) throws SQLException;

    Optional<HolderInfo> holder(Connection connection, String name) throws SQLException;

    /** What a release found. */
    enum Released {
        NOT_HELD,
        HELD,
        /** It was held, and somebody has announced to wait. */
        HELD_AND_AWAITED
    }
}
