package dev.holdfast.lock.jdbc.internal.sql;

import dev.holdfast.lock.jdbc.internal.expiring.ExpiryStatements;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;

/** The two statements of {@link ExpiryStatements} that no two databases write alike. Immutable. */
public interface LockStatements {

    /**
     * Grants, or returns the holder's remaining time: one statement. Two if the name is new on H2, or the lock is busy on MySQL and
     * MariaDB and was not recently; three if the name is new there.
     */
    AcquireResult tryAcquire(Connection connection, AcquireRequest request) throws SQLException;

    /** Renews what is held and not expired, whatever the number; returns the owners that were renewed. */
    Set<OwnerId> renew(Connection connection, List<Grant> grants) throws SQLException;
}
