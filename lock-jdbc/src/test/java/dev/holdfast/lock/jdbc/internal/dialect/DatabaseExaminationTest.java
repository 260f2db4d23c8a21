package dev.holdfast.lock.jdbc.internal.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.jdbc.internal.connection.ScriptedDatabase;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is said of a server whose settings may lose a grant. No server. */
final class DatabaseExaminationTest {
    private static Schema schema(DatabaseDialect dialect) {
        return new Schema(LockTable.VERSION, dialect, LockTable.VERSION.defaultTable());
    }

    private static final StoreFinding ON_DISK = StoreFinding.ok("fsync = on: a grant is on disk before it counts");
    private static final StoreFinding FLUSHED =
            StoreFinding.ok("innodb_flush_log_at_trx_commit = 1: a grant is on disk before it counts");
    private static final StoreFinding SEVERAL = StoreFinding.warning(
            "several servers of this cluster accept writes, and each compares the ends of leases with its own clock",
            "let all clients use one server, or keep the clocks in step");

    @Test
    void postgres_isAskedForItsDiskAndItsReplicas() throws Exception {
        ScriptedDatabase scripted = ScriptedDatabase.postgres().answer("fsync", "on", "", 0L);
        assertThat(DatabaseExamination.examine(scripted.connection(), schema(DatabaseDialects.POSTGRESQL)))
                .containsExactly(StoreFinding.ok("PostgreSQL 16.4"), ON_DISK);
        assertThat(scripted.statements())
                .filteredOn(sql -> !sql.contains("pg_catalog.pg_class"))
                .containsExactly("SELECT pg_catalog.current_setting('fsync'),"
                        + " pg_catalog.current_setting('synchronous_standby_names'),"
                        + " (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_replication)");
    }

    @Test
    void postgres_thatMayLoseAGrant_isWarnedOf() {
        assertThat(DatabaseExamination.postgres("on", "ANY 1 (*)", 2)).containsExactly(ON_DISK);
        assertThat(DatabaseExamination.postgres("on", " ", 0)).containsExactly(ON_DISK);
        assertThat(DatabaseExamination.postgres("on", " ", 1))
                .containsExactly(
                        ON_DISK,
                        StoreFinding.warning(
                                "1 replicas copy asynchronously: promoting one may lose the last grants",
                                "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'; SELECT pg_reload_conf()"));
        assertThat(DatabaseExamination.postgres("off", "a", 1))
                .containsExactly(StoreFinding.warning(
                        "fsync = off: a crash of the machine may take back the last grants, or damage the table",
                        "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()"));
    }

    @Test
    void mysql_isAskedForItsDiskAndItsCluster() throws Exception {
        ScriptedDatabase scripted = ScriptedDatabase.mariaDb()
                .answer("innodb_flush_log_at_trx_commit", "Innodb_flush_log_at_trx_commit", "2");
        assertThat(DatabaseExamination.examine(scripted.connection(), schema(DatabaseDialects.MARIADB)))
                .containsExactly(
                        StoreFinding.ok("MariaDB 11.4.2-MariaDB"),
                        StoreFinding.warning(
                                "innodb_flush_log_at_trx_commit = 2: a crash may take back the last grants",
                                "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and the same in the server's option file"));
        assertThat(scripted.statements())
                .filteredOn(sql -> !sql.contains("information_schema.TABLES"))
                .singleElement()
                .asString()
                .contains(
                        "'wsrep_on'",
                        "'group_replication_group_name'",
                        "'group_replication_single_primary_mode'",
                        "'innodb_flush_log_at_trx_commit'");
    }

    @ParameterizedTest
    @CsvSource({
        "ON, '', ON, true",
        "OFF, '', OFF, false",
        "OFF, 8f5f, OFF, true",
        "OFF, 8f5f, ON, false",
        ", 8f5f, , false",
        ", , , false"
    })
    void mysql_severalWriters_areWarnedOf(String wsrep, String group, String single, boolean several) {
        Map<String, String> variables = new java.util.HashMap<>();
        variables.put("wsrep_on", wsrep);
        variables.put("group_replication_group_name", group);
        variables.put("group_replication_single_primary_mode", single);
        variables.values().removeIf(java.util.Objects::isNull);
        assertThat(ServerCheck.hasSeveralWriters(variables)).isEqualTo(several);
        if (several) {
            assertThat(DatabaseExamination.mysql(variables)).containsExactly(FLUSHED, SEVERAL);
        } else {
            assertThat(DatabaseExamination.mysql(variables)).containsExactly(FLUSHED);
        }
    }

    @Test
    void h2_saysItsVersion() throws Exception {
        assertThat(DatabaseExamination.examine(
                        new ScriptedDatabase("H2", "2.3").connection(), schema(DatabaseDialects.H2)))
                .containsExactly(StoreFinding.ok("H2 2.3"));
    }
}
