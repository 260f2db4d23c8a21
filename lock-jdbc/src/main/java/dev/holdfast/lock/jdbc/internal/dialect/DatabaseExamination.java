package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.StoreFinding;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The settings of a database that matter to its locks, apart from rights and table, which {@link Schema} checks. Stateless. */
public final class DatabaseExamination {
    private static final String POSTGRES = "SELECT pg_catalog.current_setting('fsync'),"
            + " pg_catalog.current_setting('synchronous_standby_names'),"
            + " (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_replication)";

    private DatabaseExamination() {}

    public static List<StoreFinding> examine(Connection connection, Schema schema) throws SQLException {
        DatabaseDialect dialect = schema.dialect();
        List<StoreFinding> findings = new ArrayList<>();
        findings.add(
                StoreFinding.ok(dialect.title() + " " + connection.getMetaData().getDatabaseProductVersion()));
        List<StoreFinding> ofTable = TableCheck.examine(connection, schema);
        dialect.examine(connection).stream()
                .filter(finding ->
                        ofTable.isEmpty() || finding.grade() != StoreFinding.Grade.OK) // void for such a table
                .forEach(findings::add);
        findings.addAll(ofTable);
        return findings;
    }

    static List<StoreFinding> postgres(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(POSTGRES)) {
            rows.next();
            return postgres(rows.getString(1), rows.getString(2), rows.getLong(3));
        }
    }

    static List<StoreFinding> postgres(String fsync, String synchronousStandbys, long replicas) {
        List<StoreFinding> findings = new ArrayList<>();
        if (!"on".equals(fsync)) {
            findings.add(StoreFinding.warning(
                    "fsync = " + fsync + ": a crash of the machine may take back the last grants, or damage the table",
                    "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()"));
        } else {
            findings.add(StoreFinding.ok("fsync = on: a grant is on disk before it counts"));
        }
        if (replicas > 0 && synchronousStandbys.isBlank()) {
            findings.add(StoreFinding.warning(
                    replicas + " replicas copy asynchronously: promoting one may lose the last grants",
                    "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'; SELECT pg_reload_conf()"));
        }
        return findings;
    }

    static List<StoreFinding> mysql(Map<String, String> variables) {
        List<StoreFinding> findings = new ArrayList<>();
        String flush = variables.getOrDefault("innodb_flush_log_at_trx_commit", "1");
        if ("1".equals(flush)) {
            findings.add(StoreFinding.ok("innodb_flush_log_at_trx_commit = 1: a grant is on disk before it counts"));
        } else {
            findings.add(StoreFinding.warning(
                    "innodb_flush_log_at_trx_commit = " + flush + ": a crash may take back the last grants",
                    "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and the same in the server's option file"));
        }
        if (ServerCheck.hasSeveralWriters(variables)) {
            findings.add(StoreFinding.warning(
                    "several servers of this cluster accept writes, and each compares the ends of leases with its own clock",
                    "let all clients use one server, or keep the clocks in step"));
        }
        return findings;
    }
}
