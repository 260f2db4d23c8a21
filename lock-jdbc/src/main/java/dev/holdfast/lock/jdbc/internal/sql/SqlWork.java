package dev.holdfast.lock.jdbc.internal.sql;

import java.sql.Connection;
import java.sql.SQLException;

/** What is done with a borrowed connection. May be done again after a conflict with another transaction. */
@FunctionalInterface
public interface SqlWork<T> {
    T run(Connection connection) throws SQLException;
}
