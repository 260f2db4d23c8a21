package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.internal.dialect.driver.MySqlDriver;
import dev.holdfast.lock.jdbc.internal.sql.TransactionRow;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/** MySQL. */
public final class MySqlDialect extends InnoDbDialect {
    private static final String WAIT = "SET SESSION innodb_lock_wait_timeout = ";

    MySqlDialect() {
        super("MySQL", new MySqlDriver());
    }

    /** MySQL's driver reports a MariaDB server as MySQL, and only its version says MariaDB. */
    @Override
    boolean matches(String product) {
        return super.matches(product) && !product.contains("mariadb");
    }

    @Override
    void requireGenuine(String product) {
        ServerCheck.requireMySql(product);
    }

    @Override
    void requireSupported(LockTable strategy) {
        if (strategy.hasSequence()) {
            throw new LockConfigurationException(
                    "strategy " + strategy + " needs sequences, which MySQL does not have; use strategy VERSION");
        }
    }

    @Override
    String nextValue(String sequence) {
        throw new IllegalArgumentException("MySQL has no sequences");
    }

    @Override
    String drawnValue(String sequence) {
        return nextValue(sequence);
    }

    @Override
    String readOnlyVariable() {
        return "transaction_read_only";
    }

    @Override
    public long lockUntilCommit(Connection connection, byte[] name, long waitMillis) throws SQLException {
        return lockBySession(connection, name, waitMillis / 1000);
    }

    /**
     * The shortest wait of the session is a second. A statement with NOWAIT before it would lock the gap of a name that has no row
     * yet, and so other names in the gap.
     */
    public static long lockBySession(Connection connection, byte[] name, long waitSeconds) throws SQLException {
        try (Statement setting = connection.createStatement()) {
            long before = TransactionRow.first(setting.executeQuery("SELECT @@SESSION.innodb_lock_wait_timeout"));
            setting.execute(WAIT + Math.max(1, waitSeconds));
            try {
                return lockAndCompare(connection, "", name);
            } finally {
                setting.execute(WAIT + before);
            }
        }
    }
}
