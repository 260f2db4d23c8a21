package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * What a server has to be, beyond its dialect, for a strategy to hold what it promises; asked once, when a client is built.
 *
 * <p>A row lock is a lock in one server's memory. On a cluster in which several servers accept writes, each grants it: refused.
 * A lock that is a row with an expiry is held by the row's commit, which such a cluster certifies against all others; but its
 * expiry is written by one server's clock and compared with another's: a warning.
 */
final class ServerCheck {
    private static final BackgroundLog LOG = BackgroundLog.of(ServerCheck.class);

    private static final Pattern LIKE_MYSQL =
            Pattern.compile("(?i)tidb|oceanbase|vitess|singlestore|memsql|xpand|clustrix|starrocks|doris");

    private static final String VARIABLES = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', "
            + "'group_replication_group_name', 'group_replication_single_primary_mode', 'innodb_flush_log_at_trx_commit')";

    private ServerCheck() {}

    static String version(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT pg_catalog.version()")) {
            rows.next();
            return rows.getString(1);
        }
    }

    /** Databases that speak PostgreSQL's protocol and claim to be PostgreSQL towards their drivers. */
    static void requirePostgres(String version) {
        String text = version.toLowerCase(Locale.ROOT);
        if (!text.startsWith("postgresql ")
                || text.contains("-yb-")
                || text.contains("redshift")
                || text.contains("greenplum")) {
            throw new LockConfigurationException(
                    "the data source leads to '" + version + "', which speaks PostgreSQL's protocol"
                            + " but has other transactions; locks were not tested there and are refused: use PostgreSQL itself");
        }
    }

    /** Databases that speak MySQL's protocol and give its version, followed by their own name. */
    static void requireMySql(String version) {
        if (LIKE_MYSQL.matcher(version).find()) {
            throw new LockConfigurationException(
                    "the data source leads to '" + version + "', which speaks MySQL's protocol"
                            + " but has other transactions; locks were not tested there and are refused: use MySQL or MariaDB itself");
        }
    }

    static Map<String, String> variables(Connection connection) throws SQLException {
        Map<String, String> variables = new HashMap<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(VARIABLES)) {
            while (rows.next()) {
                variables.put(rows.getString(1).toLowerCase(Locale.ROOT), rows.getString(2));
            }
        }
        return variables;
    }

    private static boolean isGalera(Map<String, String> variables) {
        return "ON".equals(variables.get("wsrep_on"));
    }

    private static boolean isGroup(Map<String, String> variables) {
        return !variables.getOrDefault("group_replication_group_name", "").isEmpty()
                && "OFF".equals(variables.get("group_replication_single_primary_mode"));
    }

    /** Whether several servers of a cluster accept writes. */
    static boolean hasSeveralWriters(Map<String, String> variables) {
        return isGalera(variables) || isGroup(variables);
    }

    static void requireOneWriter(LockTable strategy, String title, Map<String, String> variables) {
        boolean galera = isGalera(variables);
        boolean group = isGroup(variables);
        if (strategy != LockTable.VERSION && (galera || group)) {
            throw new LockConfigurationException("strategy " + strategy
                    + " is not for a cluster with several servers that"
                    + " accept writes (" + (galera ? "wsrep_on = ON" : "group_replication_single_primary_mode = OFF")
                    + switch (strategy) {
                        case ROW_LOCK ->
                            "): each of them locks its own copy of a row, so that a lock would have two holders";
                        case SESSION ->
                            "): each of them has session locks of its own, so that a lock would have two holders";
                        default -> "): its sequence needs other settings there, with which tokens were not tested";
                    }
                    + "; use strategy VERSION");
        }
        if (galera || group) {
            LOG.warn(
                    "{} is a cluster in which several servers accept writes ({}): each compares the ends of leases with its own"
                            + " clock; keep their clocks in step, or let all clients use one server",
                    title,
                    galera ? "wsrep_on = ON" : "group_replication_single_primary_mode = OFF");
        }
        String flush = variables.getOrDefault("innodb_flush_log_at_trx_commit", "1");
        if (!"1".equals(flush)) {
            LOG.warn(
                    "{} commits without waiting for its disk (innodb_flush_log_at_trx_commit = {}): a crash may take back the"
                            + " last grants, and the locks be granted again with the same tokens; set it to 1",
                    title,
                    flush);
        }
    }
}
