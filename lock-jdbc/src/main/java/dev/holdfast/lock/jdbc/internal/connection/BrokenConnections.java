package dev.holdfast.lock.jdbc.internal.connection;

import com.zaxxer.hikari.SQLExceptionOverride;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;

/**
 * Makes HikariCP evict each connection that its driver reports as broken. HikariCP itself checks only the SQLSTATE, which
 * on H2 does not show a broken connection. It also skips the validation of a connection that was used within the last
 * half second, so a busy one that is broken would never be evicted. Stateless.
 */
public final class BrokenConnections implements SQLExceptionOverride {

    @java.lang.Override
    public Override adjudicate(SQLException failure) {
        return failure instanceof SQLNonTransientConnectionException || failure instanceof SQLRecoverableException
                ? Override.MUST_EVICT
                : Override.CONTINUE_EVICT;
    }
}
