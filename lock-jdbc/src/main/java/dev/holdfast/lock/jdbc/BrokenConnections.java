package dev.holdfast.lock.jdbc;

import com.zaxxer.hikari.SQLExceptionOverride;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;

/**
 * Has HikariCP throw away each connection of which its driver says that it is broken. By itself it looks at the SQLSTATE, which on
 * H2 says nothing of that, and does not ask a connection that was in use half a second ago: one that many use is broken for ever.
 * Stateless.
 */
final class BrokenConnections implements SQLExceptionOverride {

    @java.lang.Override
    public Override adjudicate(SQLException failure) {
        return failure instanceof SQLNonTransientConnectionException || failure instanceof SQLRecoverableException
                ? Override.MUST_EVICT
                : Override.CONTINUE_EVICT;
    }
}
