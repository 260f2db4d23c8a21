package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.server.MariaDbServer;
import dev.holdfast.lock.testkit.server.PostgresServer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import org.junit.jupiter.api.Test;

/** {@code holdfast doctor} on databases where a right is missing: the printed statement fixes it. */
class DoctorIT {
    private static final String TABLE = """
            CREATE TABLE holdfast_lock (name %s NOT NULL PRIMARY KEY, owner VARCHAR(64), token BIGINT NOT NULL,
            lease_millis BIGINT NOT NULL, expires %s NOT NULL, since %s NOT NULL, holder VARCHAR(500) NOT NULL%s)""";

    @Test
    void postgres_rightMissing_itsGrantMendsIt() throws Exception {
        try (PostgresServer server = PostgresServer.start("fsync=off");
                Connection admin =
                        DriverManager.getConnection(server.url(), PostgresServer.USER, PostgresServer.PASSWORD);
                Statement statement = admin.createStatement()) {
            String store = server.url() + "?user=clerk&password=canary-clerk";
            statement.execute("CREATE ROLE clerk LOGIN PASSWORD 'canary-clerk'");
            statement.execute(
                    TABLE.formatted("bytea", "timestamptz", "timestamptz", ", awaited timestamptz, shares text"));
            statement.execute("GRANT SELECT, INSERT ON holdfast_lock TO clerk");

            String grant = missingGrant(store);

            assertThat(grant).startsWith("GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO \"clerk\"");
            statement.execute(grant);
            try (CliRun doctor = CliRun.patient(store, "doctor")) {
                assertThat(doctor.status()).as(doctor.out()).isEqualTo(1);
                assertThat(doctor.out())
                        .contains("PostgreSQL 1")
                        .contains("warning  fsync = off")
                        .contains("fix: ALTER SYSTEM SET fsync = on");
            }
        }
    }

    @Test
    void mariaDb_rightMissing_itsGrantMendsIt() throws Exception {
        try (MariaDbServer server = MariaDbServer.start("innodb_flush_log_at_trx_commit=2");
                Connection admin =
                        DriverManager.getConnection(server.url("mariadb"), MariaDbServer.USER, MariaDbServer.PASSWORD);
                Statement statement = admin.createStatement()) {
            String store = server.url("mariadb") + "?user=clerk&password=canary-clerk";
            try (CliRun first = CliRun.patient(
                    server.url("mariadb") + "?user=" + MariaDbServer.USER + "&password=" + MariaDbServer.PASSWORD
                            + "&holdfast.createTable=true",
                    "holder",
                    "any")) {
                assertThat(first.status()).as(first.err()).isEqualTo(1);
            }
            statement.execute("CREATE USER clerk@'%' IDENTIFIED BY 'canary-clerk'");
            statement.execute("GRANT SELECT ON holdfast_lock TO clerk@'%'");

            String grant = missingGrant(store);

            statement.execute(grant);
            try (CliRun doctor = CliRun.patient(store, "doctor", "--json")) {
                assertThat(doctor.status()).as(doctor.out()).isEqualTo(1);
                assertThat(doctor.out())
                        .contains("\"grade\":\"WARNING\",\"observation\":\"innodb_flush_log_at_trx_commit = 2")
                        .contains("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
            }
        }
    }

    /** Returns the printed fix; the output never contains the password. */
    private static String missingGrant(String store) throws Exception {
        try (CliRun doctor = CliRun.patient("memory:unused", "doctor", store)) {
            assertThat(doctor.status()).as(doctor.out() + doctor.err()).isEqualTo(78);
            assertThat(doctor.out()).startsWith("problem ").doesNotContain("canary-clerk");
            String fix = "fix: ";
            return doctor.out()
                    .substring(doctor.out().indexOf(fix) + fix.length())
                    .strip();
        }
    }
}
