package dev.holdfast.lock.jdbc.internal.transaction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** When the table of locks in transactions is created, and what is said where it cannot be. */
final class TransactionTableStepsTest {
    private static final String PROBE = "SELECT name, token FROM holdfast_transaction WHERE FALSE";
    private static final String CREATE = "CREATE TABLE";

    private static void create(RecordedDb db) {
        JdbcLocks.createTransactionTable(db.dataSource(), Duration.ofSeconds(20));
    }

    private static RecordedDb.Script refusing(String message, String state) {
        return call -> {
            throw new SQLException(message, state);
        };
    }

    @ParameterizedTest
    @EnumSource
    void tableIsThere_nothingIsCreated(Product product) {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        create(db);
        assertThat(db.calls().stream().map(RecordedDb.Call::sql).toList()).isEqualTo(List.of(PROBE));
        assertThat(db.calls().get(0).networkTimeoutMillis())
                .as("what is left of all")
                .isBetween(2_000, 20_000);
        assertThat(db.events()).as("each connection is given back").contains("1 close", "2 close");
    }

    @ParameterizedTest
    @CsvSource({"POSTGRESQL, false", "MARIADB, false", "MYSQL, true", "H2, true"})
    void tableIsMissing_isCreated_thoughSomebodyElseWasFaster(Product product, boolean refused) {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        AtomicBoolean there = new AtomicBoolean();
        db.on(PROBE, call -> {
                    if (!there.get()) {
                        throw new SQLException("no such table", "42P01");
                    }
                    return null;
                })
                .on(CREATE, call -> {
                    there.set(true);
                    if (refused) {
                        throw new SQLException("duplicate key", "23505");
                    }
                    return null;
                });
        create(db);
        assertThat(db.calls(CREATE)).hasSize(1);
        assertThat(db.calls(PROBE)).hasSize(2);
    }

    @ParameterizedTest
    @CsvSource({"true, permission denied", "false, no such table"})
    void tableCannotBeCreated_whoeverMayIsToRunIt(boolean refused, String says) {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        db.on(PROBE, refusing("no such table", "42P01"));
        if (refused) {
            db.on(CREATE, refusing("permission denied", "42501"));
        }
        assertThatThrownBy(() -> create(db))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith("table 'holdfast_transaction' cannot be created on PostgreSQL (" + says
                        + "); create it with a user that may: CREATE TABLE IF NOT EXISTS holdfast_transaction (")
                .hasMessageEndingWith(";")
                .cause()
                .hasMessage(says);
    }

    @Test
    void creationWithoutAnAnswer_isUnavailable() {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        db.on(PROBE, refusing("no such table", "42P01")).on(CREATE, refusing("broken", "08006"));
        assertThatThrownBy(() -> create(db))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("table 'holdfast_transaction': no usable answer from the database (broken)");
    }

    /** Whatever it is, it is not that there is no such table: nothing is created, and that is said. */
    @Test
    void probeFailsOtherwise_nothingIsCreated() {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        db.on(PROBE, refusing("permission denied for table", "42501"));
        assertThatThrownBy(() -> create(db))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("permission denied for table");
        assertThat(db.calls(CREATE)).isEmpty();

        AtomicBoolean created = new AtomicBoolean();
        db.on(PROBE, call -> {
                    throw new SQLException("failed", created.get() ? "42501" : "42P01");
                })
                .on(CREATE, call -> {
                    created.set(true);
                    return Answer.none();
                });
        assertThatThrownBy(() -> create(db))
                .as("behind the creation")
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("refuses the statement (failed)");
    }

    @Test
    void databaseDoesNotAnswer_isUnavailable() {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        db.before = (connection, method) -> {
            throw new SQLException("refused", "08001");
        };
        assertThatThrownBy(() -> create(db))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("table 'holdfast_transaction': no usable answer from the database (refused)");
    }
}
