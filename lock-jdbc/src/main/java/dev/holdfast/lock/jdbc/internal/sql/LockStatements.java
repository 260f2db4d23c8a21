package dev.holdfast.lock.jdbc.internal.sql;

import dev.holdfast.lock.jdbc.internal.expiring.ExpiryStatements;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

/** The two statements of {@link ExpiryStatements} that no two databases write alike. Immutable. */
public interface LockStatements {

    /**
     * Grants, or returns the holder's remaining time: one statement. Two if the name is new on H2, or the lock is busy on MySQL and
     * MariaDB and was not recently; three if the name is new there.
     */
    AcquireResult tryAcquire(Connection connection, AcquireRequest request) throws SQLException;

    /**
     * Renews what is held and not expired, whatever the number. Does not wait for rows that another session has locked: one of
     * them would cost the client its other leases. One statement if all were renewed.
     */
    RenewedRows renew(Connection connection, List<Grant> grants) throws SQLException;
}
