package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.jdbc.internal.dialect.driver.MariaDbDriver;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.jdbc.internal.sql.TransactionRow;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;

/** MariaDB. */
final class MariaDbDialect extends InnoDbDialect {
    private static final int NO_SUCH_VARIABLE = 1193;
    private static final String LOCK_AND_COUNT =
            "INSERT INTO holdfast_transaction (name, token) VALUES (?, LAST_INSERT_ID(1))"
                    + " ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(token + 1)";

    MariaDbDialect() {
        super("MariaDB", new MariaDbDriver());
    }

    @Override
    boolean matches(String product) {
        return product.contains("mariadb");
    }

    @Override
    String sequenceSchemaFamily() {
        return "mariadb";
    }

    @Override
    String nextValue(String sequence) {
        return "NEXTVAL(" + sequence + ")";
    }

    @Override
    String drawnValue(String sequence) {
        return "LASTVAL(" + sequence + ")";
    }

    @Override
    public SessionStatements sessionStatements(TableName table) {
        return new MariaDbSessionStatements(this, table);
    }

    @Override
    public String whySessionLocksAreNotShared() {
        return "strategy SESSION has its locks from MariaDB's GET_LOCK, which has no shared mode";
    }

    @Override
    String readOnlyVariable() {
        return "tx_read_only";
    }

    @Override
    public long lockUntilCommit(Connection connection, byte[] name, long waitMillis) throws SQLException {
        String bounded = "SET STATEMENT innodb_lock_wait_timeout = " + waitMillis / 1000;
        try (PreparedStatement statement = connection.prepareStatement(
                bounded + ", innodb_snapshot_isolation = @@in_transaction FOR " + LOCK_AND_COUNT,
                Statement.RETURN_GENERATED_KEYS)) {
            statement.setBytes(1, name);
            statement.executeUpdate();
            return TransactionRow.first(statement.getGeneratedKeys());
        } catch (SQLException e) {
            if (e.getErrorCode() != NO_SUCH_VARIABLE) {
                throw e;
            }
            return lockAndCompare(connection, bounded + " FOR ", name);
        }
    }
}
