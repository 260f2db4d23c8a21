package dev.holdfast.lock.jdbc.internal.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.internal.connection.ScriptedDatabase;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.support.Remedy;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a strategy keeps where, by which statements it is made, and what is said of rights and tables that are missing. */
final class SchemaTest {
    private static final SQLException CAUSE = new SQLException("as the server says");

    private static Schema schema(JdbcStrategy strategy, DatabaseDialect dialect, String table) {
        return new Schema(JdbcInternals.table(strategy), dialect, new TableName(table));
    }

    @ParameterizedTest
    @CsvSource({
        "VERSION, POSTGRESQL, version-postgresql.sql, ', shares, awaited'",
        "VERSION, MARIADB, version-mysql.sql, ', shares'",
        "VERSION, MYSQL, version-mysql.sql, ', shares'",
        "VERSION, H2, version-h2.sql, ', shares'",
        "UNIQUE_INDEX, POSTGRESQL, unique-postgresql.sql, ', awaited'",
        "UNIQUE_INDEX, MARIADB, unique-mariadb.sql, ''",
        "UNIQUE_INDEX, H2, unique-h2.sql, ''",
        "ROW_LOCK, POSTGRESQL, row-postgresql.sql, -",
        "ROW_LOCK, MARIADB, row-mysql.sql, -",
        "ROW_LOCK, MYSQL, row-mysql.sql, -",
        "SESSION, POSTGRESQL, session-postgresql.sql, session",
        "SESSION, MARIADB, session-mariadb.sql, session"
    })
    void strategy_hasItsFileAndColumns(JdbcStrategy strategy, Product product, String file, String more) {
        DatabaseDialect dialect = product.dialect();
        assertThat(JdbcInternals.table(strategy).file(dialect)).isEqualTo(file);
        assertThat(JdbcInternals.table(strategy).columns(dialect))
                .isEqualTo(
                        more.equals("-") || more.equals("session")
                                ? "name, " + (more.equals("-") ? "part, " : "") + "token, session, since, holder"
                                : "name, owner, token, lease_millis, expires, since, holder" + more);
        JdbcInternals.table(strategy).requireSupported(dialect, new TableName("s".repeat(63) + "." + "t".repeat(57)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ROW_LOCK | H2 | t | strategy ROW_LOCK is not for H2 | use strategy VERSION",
                "SESSION | H2 | t | strategy SESSION is not for H2 | use strategy VERSION",
                "SESSION | MYSQL | t | needs sequences, which MySQL does not have | use strategy VERSION",
                "SESSION | POSTGRESQL | t23456789012345678901234567890123456789012345678901234567x"
                        + " | must have at most 57 characters | shorten it",
                "UNIQUE_INDEX | MYSQL | t | needs sequences, which MySQL does not have | use strategy VERSION",
                "UNIQUE_INDEX | POSTGRESQL | t23456789012345678901234567890123456789012345678901234567x"
                        + " | must have at most 57 characters | shorten it"
            })
    void strategy_thatCannotWork_isRefused(
            JdbcStrategy strategy, Product product, String table, String why, String remedy) {
        DatabaseDialect dialect = product.dialect();
        assertThatThrownBy(() -> JdbcInternals.table(strategy).requireSupported(dialect, new TableName(table)))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining(why)
                .hasMessageContaining(remedy);
        LockTable.VERSION.requireSupported(dialect, new TableName(table));
    }

    @Test
    void defaultTables_areEachStrategysOwn() {
        assertThat(LockTable.VERSION.defaultTable()).hasToString("holdfast_lock");
        assertThat(LockTable.UNIQUE_INDEX.defaultTable()).hasToString("holdfast_held");
        assertThat(LockTable.ROW_LOCK.defaultTable()).hasToString("holdfast_row");
    }

    /** An index has no schema of its own, a sequence has. */
    @Test
    void statements_areOfTheTable_oneLineEach() {
        List<String> statements = schema(JdbcStrategy.UNIQUE_INDEX, DatabaseDialects.POSTGRESQL, "shop.locks")
                .statements();
        assertThat(statements).hasSize(3);
        assertThat(statements.get(0)).isEqualTo("CREATE SEQUENCE IF NOT EXISTS shop.locks_token");
        assertThat(statements.get(1))
                .startsWith("CREATE TABLE IF NOT EXISTS shop.locks ( name bytea NOT NULL PRIMARY KEY, owner text,")
                .endsWith(") WITH (fillfactor = 50)");
        assertThat(statements.get(2)).isEqualTo("CREATE INDEX IF NOT EXISTS locks_due ON shop.locks (expires)");
        for (JdbcStrategy strategy : JdbcStrategy.values()) {
            for (DatabaseDialect dialect : DatabaseDialects.ALL) {
                boolean session = strategy == JdbcStrategy.SESSION;
                if (dialect == DatabaseDialects.H2 && (session || strategy == JdbcStrategy.ROW_LOCK)) {
                    continue;
                }
                if (dialect != DatabaseDialects.MYSQL || !session && strategy != JdbcStrategy.UNIQUE_INDEX) {
                    assertThat(schema(strategy, dialect, "t").statements())
                            .isNotEmpty()
                            .noneMatch(sql -> sql.isEmpty() || sql.contains("\n") || sql.contains("--"))
                            .noneMatch(sql -> sql.contains("holdfast_"));
                }
            }
        }
        assertThat(Schema.statements("transaction", DatabaseDialects.MARIADB))
                .first()
                .asString()
                .contains("holdfast_transaction");
        assertThatThrownBy(() -> Schema.statements("nothing", DatabaseDialects.H2))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("schema file nothing-h2.sql is missing in the module");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "VERSION | POSTGRESQL | GRANT SELECT, INSERT, UPDATE ON s.t TO me",
                "ROW_LOCK | MYSQL | GRANT SELECT, INSERT, UPDATE ON s.t TO me",
                "UNIQUE_INDEX | POSTGRESQL | GRANT SELECT, INSERT, UPDATE, DELETE ON s.t TO me;"
                        + " GRANT USAGE ON SEQUENCE s.t_token TO me",
                "UNIQUE_INDEX | MARIADB | GRANT SELECT, INSERT, UPDATE, DELETE ON s.t TO me;"
                        + " GRANT SELECT, INSERT ON s.t_token TO me",
                "UNIQUE_INDEX | H2 | GRANT SELECT, INSERT, UPDATE, DELETE ON s.t TO me"
            })
    void denied_saysWhichRights(JdbcStrategy strategy, Product product, String grant) {
        DatabaseDialect dialect = product.dialect();
        assertThat(schema(strategy, dialect, "s.t").denied("me", CAUSE))
                .isEqualTo(new Remedy.Configuration(
                        dialect.title() + " denies access to table 's.t' (as the server says)", "run: " + grant));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "POSTGRESQL | shop | \"shop\"",
                "H2 | SHOP | \"SHOP\"",
                "MARIADB | shop@10.0.0.% | 'shop'@'10.0.0.%'"
            })
    void user_isQuotedAsItsDatabaseDoes(Product product, String user, String quoted) throws SQLException {
        DatabaseDialect dialect = product.dialect();
        ScriptedDatabase scripted = new ScriptedDatabase("x", "1").answer("SELECT CURRENT_USER", user);
        assertThat(schema(JdbcStrategy.VERSION, dialect, "t").user(scripted.connection()))
                .isEqualTo(quoted);
    }

    @Test
    void refusals_haveTheStatementsToRun() {
        Schema schema = schema(JdbcStrategy.UNIQUE_INDEX, DatabaseDialects.POSTGRESQL, "s.t");
        String script = String.join("; ", schema.statements()) + ";";
        assertThat(schema.missing(CAUSE))
                .as("the greatest token is not known")
                .hasMessageContaining(
                        "; create it with createTable(true), with holdfast.createTable=true in the address, or run: CREATE SEQUENCE IF NOT EXISTS s.t_token"
                                + " START WITH n, where n is above the table's greatest token, or 1; CREATE TABLE ");
        assertThat(schema.missing(CAUSE, 50))
                .hasMessageContaining(
                        "; create it with createTable(true), with holdfast.createTable=true in the address, or run: CREATE SEQUENCE IF NOT EXISTS s.t_token"
                                + " START WITH 51; CREATE TABLE ");
        assertThat(schema.missing(CAUSE, 0))
                .hasMessage("lock table 's.t' is missing on PostgreSQL, or has other columns (as the server says);"
                        + " create it with createTable(true), with holdfast.createTable=true in the address, or run: "
                        + script)
                .hasCause(CAUSE);
        assertThat(schema.notCreated(CAUSE))
                .hasMessage(
                        "lock table 's.t' cannot be created on PostgreSQL (as the server says); create it with a user"
                                + " that may: " + script)
                .hasCause(CAUSE);
        assertThat(schema.otherColumns(List.of("owner", "token"), CAUSE))
                .hasMessage(
                        "lock table 's.t' on PostgreSQL lacks the columns [owner, token] (as the server says); choose"
                                + " another table, or stop whoever uses this one and run: ALTER TABLE s.t RENAME TO t_old; "
                                + script)
                .hasCause(CAUSE);
    }

    @Test
    void missingColumns_otherFailures_areThrown() {
        SQLException gone = new SQLException("gone", "08006");
        ScriptedDatabase scripted = ScriptedDatabase.postgres().refuse("SELECT 1 FROM t WHERE FALSE", gone);
        assertThatThrownBy(() -> schema(JdbcStrategy.VERSION, DatabaseDialects.POSTGRESQL, "t")
                        .missingColumns(scripted.connection()))
                .isSameAs(gone);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "PostgreSQL | 16.4 | POSTGRESQL | postgresql",
                "MySQL | 8.4.0 | MYSQL | mysql",
                "MySQL | 5.5.5-10.11.8-MariaDB-log | MARIADB | mysql",
                "MariaDB | 11.4.2-MariaDB | MARIADB | mysql",
                "H2 | 2.3.232 (2024-08-11) | H2 | h2"
            })
    void dialect_isThatOfTheServer(String title, String version, Product product, String family) throws SQLException {
        DatabaseDialect dialect = product.dialect();
        ScriptedDatabase scripted = new ScriptedDatabase(title, version);
        assertThat(DatabaseDialects.of(scripted.connection().getMetaData())).isEqualTo(dialect);
        assertThat(dialect.schemaFamily()).isEqualTo(family);
        assertThat(Product.isInnoDb(dialect)).isEqualTo(family.equals("mysql"));
    }

    @ParameterizedTest
    @CsvSource({"Oracle, 23ai", "EnterpriseDB PostgreSQL, 15", "Apache Derby, 10", "Microsoft SQL Server, H2"})
    void dialect_ofAnother_isRefused(String product, String version) {
        ScriptedDatabase scripted = new ScriptedDatabase(product, version);
        assertThatThrownBy(() -> DatabaseDialects.of(scripted.connection().getMetaData()))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage("the data source leads to '" + product + " " + version
                        + "', which is not supported; use PostgreSQL, MySQL, MariaDB or H2");
    }

    /** On PostgreSQL nothing is looked up in the search path. */
    @Test
    void operators_ofPostgres_areItsOwn() {
        assertThat(DatabaseDialects.POSTGRESQL.operator("<=")).isEqualTo("OPERATOR(pg_catalog.<=)");
        assertThat(DatabaseDialects.MARIADB.operator("<=")).isEqualTo("<=");
        assertThat(PostgresSql.named("a {=} b {+} {x} {<>} {*}"))
                .isEqualTo("a OPERATOR(pg_catalog.=) b OPERATOR(pg_catalog.+) {x} OPERATOR(pg_catalog.<>)"
                        + " OPERATOR(pg_catalog.*)");
        assertThat(PostgresSql.DURABLY)
                .isEqualTo("CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off'"
                        + " OR pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'local'"
                        + " THEN pg_catalog.set_config('synchronous_commit', 'on', true) END");
        assertThat(PostgresSql.NOW).startsWith("pg_catalog.");
        assertThat(PostgresSql.TEXT).isEqualTo("CAST(? AS pg_catalog.text)");
    }

    @Test
    void times_areTheServersOfTheMoment() {
        assertThat(DatabaseDialects.H2.now()).isEqualTo("CURRENT_TIMESTAMP(6)");
        assertThat(DatabaseDialects.MYSQL.now()).isEqualTo("UTC_TIMESTAMP(6)");
        assertThat(DatabaseDialects.POSTGRESQL.now()).isEqualTo("pg_catalog.clock_timestamp()");
        assertThat(DatabaseDialects.MYSQL.nowPlusMillis("?"))
                .isEqualTo("UTC_TIMESTAMP(6) + INTERVAL ? * 1000 MICROSECOND");
        assertThat(DatabaseDialects.POSTGRESQL.nowPlusMillis("?"))
                .isEqualTo("(pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) (? OPERATOR(pg_catalog.*) interval '1"
                        + " millisecond'))");
        assertThat(DatabaseDialects.H2.nowPlusMillis("?")).isEqualTo("DATEADD(MILLISECOND, ?, CURRENT_TIMESTAMP(6))");
    }
}
