package dev.holdfast.lock.jdbc.internal.expiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.RowChange;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Which statements follow from a request and from the answer to the one before, and what becomes of a refused notification. */
final class ExpiryStatementsTest {
    private static final String NAME = "orders/42";
    private static final Demand TWO = new Demand.Permits(1, 2);
    private static final OwnerId OWNER = OwnerId.random();
    private static final String LOUD = "pg_notify";
    private static final String SILENT = "'nobody'";
    private static final String FREE = "SET owner = NULL";
    private static final String LOOK = "FOR UPDATE NOWAIT";

    private static ExpiryStatements statements(DatabaseDialect dialect) {
        TableName table = LockTable.VERSION.defaultTable();
        return new ExpiryStatements(dialect, table, dialect.countedTokens(), new RowShares(dialect, table, 1_500));
    }

    private static Demand demand(String kind) {
        return switch (kind) {
            case "shared" -> Demand.SHARED;
            case "permits" -> TWO;
            default -> Demand.EXCLUSIVE;
        };
    }

    private static AcquisitionId acquisition(Demand demand) {
        return new AcquisitionId(NAME, OWNER, demand);
    }

    private static Grant grant(Demand demand) {
        return new Grant(acquisition(demand), 5, 60_000, demand instanceof Demand.Permits ? 1 : 0, null);
    }

    private static AcquireRequest request(Demand demand, long waitMillis) {
        return new AcquireRequest(acquisition(demand), 60_000, waitMillis, false, null, 5_000, BackendDriver.IDENTITY);
    }

    @ParameterizedTest
    @CsvSource({"'', NONE", "quiet, DONE", "awaited, DONE_AND_AWAITED"})
    void release_onPostgres_tellsWhetherSomebodyWaits(String answer, RowChange expected) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        db.on(
                LOUD,
                call -> answer.isEmpty() ? Answer.none() : Answer.row(answer.equals("quiet") ? null : (Object) answer));
        assertThat(statements(DatabaseDialects.POSTGRESQL).release(db.connection(), grant(Demand.EXCLUSIVE)))
                .isEqualTo(expected);
        assertThat(db.calls()).hasSize(1);
        assertThat(db.calls().get(0).parameters()).containsExactly(NAME, OWNER.toString());
    }

    @ParameterizedTest
    @CsvSource({"MARIADB, 0, NONE", "MARIADB, 1, DONE", "MYSQL, 1, DONE", "H2, 0, NONE", "H2, 1, DONE"})
    void release_elsewhere_countsRows(Product product, long count, RowChange expected) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        db.on(FREE, call -> Answer.count(count));
        assertThat(statements(dialect).release(db.connection(), grant(Demand.EXCLUSIVE)))
                .isEqualTo(expected);
    }

    /** The retry for conflicts repeats it without the unsupported clause; later statements omit that clause at once. */
    @ParameterizedTest
    @CsvSource({"true", "false"})
    void free_withoutTheRightToNotify_isSilentFromThenOn(boolean release) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        Connection connection = db.connection();
        ExpiryStatements statements = statements(DatabaseDialects.POSTGRESQL);
        db.on(SILENT, call -> Answer.row((Object) null)).on(LOUD, call -> {
            throw new SQLException("permission denied for function pg_notify", "42501");
        });

        assertThatThrownBy(() -> free(statements, connection, release))
                .isInstanceOf(SQLTransactionRollbackException.class)
                .hasMessage("to be released without a notification")
                .satisfies(
                        failure -> assertThat(DatabaseDialects.failure(failure)).isEqualTo(JdbcFailure.CONFLICT));
        free(statements, connection, release);
        free(statements, connection, !release);

        assertThat(db.calls(LOUD)).hasSize(1);
        assertThat(db.calls(SILENT)).hasSize(2);
    }

    private static void free(ExpiryStatements statements, Connection connection, boolean release) throws SQLException {
        if (release) {
            assertThat(statements.release(connection, grant(Demand.EXCLUSIVE))).isEqualTo(RowChange.DONE);
        } else {
            statements.abandon(connection, acquisition(Demand.EXCLUSIVE));
        }
    }

    @Test
    void free_failsOtherwise_isAsLoudTheNextTime() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        Connection connection = db.connection();
        ExpiryStatements statements = statements(DatabaseDialects.POSTGRESQL);
        db.on(LOUD, call -> {
            throw new SQLException("broken", "08006");
        });
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> statements.release(connection, grant(Demand.EXCLUSIVE)))
                    .hasMessage("broken");
        }
        assertThat(db.calls(LOUD)).hasSize(2);

        RecordedDb maria = new RecordedDb(DatabaseDialects.MARIADB);
        maria.on(FREE, call -> {
            throw new SQLException("UPDATE command denied", "42000", 1142);
        });
        assertThatThrownBy(
                        () -> statements(DatabaseDialects.MARIADB).release(maria.connection(), grant(Demand.EXCLUSIVE)))
                .as("there is no notification that could be left out")
                .hasMessage("UPDATE command denied");
    }

    /** Abandoned is what has expired, too: nothing of it is to come back. */
    @ParameterizedTest
    @EnumSource
    void abandonment_doesNotLookAtTheExpiry_aReleaseDoes(Product product) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        ExpiryStatements statements = statements(dialect);
        statements.abandon(db.connection(), acquisition(Demand.EXCLUSIVE));
        assertThat(db.calls()).hasSize(1);
        assertThat(db.calls().get(0).sql()).contains(FREE).doesNotContain("expires");
        statements.release(db.connection(), grant(Demand.EXCLUSIVE));
        assertThat(db.calls().get(1).sql()).contains(FREE).contains("expires");
    }

    /** A reader alone has the row to itself; what has permits never has. */
    @ParameterizedTest
    @CsvSource({
        "exclusive, true, 1",
        "exclusive, false, 1",
        "shared, true, 1",
        "shared, false, 2",
        "permits, false, 1",
    })
    void release_looksForShares_whereThereMayBeSome(String kind, boolean held, int statements) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        db.on(FREE, call -> Answer.count(held ? 1 : 0));
        assertThat(statements(DatabaseDialects.H2).release(db.connection(), grant(demand(kind))))
                .isEqualTo(held ? RowChange.DONE : RowChange.NONE);
        // A row that is not there is asked for the time, as once in its life.
        assertThat(db.calls().stream().filter(call -> !call.sql().startsWith("SELECT CAST(FLOOR((EXTRACT(EPOCH")))
                .hasSize(statements);
        assertThat(db.calls(FREE)).hasSize(kind.equals("permits") ? 0 : 1);
    }

    /** After an attempt without an answer: a row that another transaction has locked is left for the next time. */
    @ParameterizedTest
    @CsvSource({
        "POSTGRESQL, exclusive", "MARIADB, exclusive", "MYSQL, exclusive",
        "POSTGRESQL, shared", "MARIADB, shared", "POSTGRESQL, permits",
    })
    void abandonUnlessLocked_looksFirst_withoutAWait(Product product, String kind) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        Connection connection = db.connection();
        ExpiryStatements statements = statements(dialect);
        AcquisitionId acquisition = acquisition(demand(kind));

        statements.abandonUnlessLocked(connection, acquisition);
        assertThat(db.calls()).as("no such row").hasSize(1);
        assertThat(db.calls().get(0).sql()).contains(LOOK);
        assertThat(db.calls().get(0).sql().contains("owner"))
                .as("a row of one's own")
                .isEqualTo(kind.equals("exclusive"));
        assertThat(db.calls().get(0).parameters())
                .isEqualTo(kind.equals("exclusive") ? List.of(NAME, OWNER.toString()) : List.of(NAME));

        db.on(LOOK, call -> {
            throw new SQLException("could not obtain lock", "55P03");
        });
        statements.abandonUnlessLocked(connection, acquisition);
        assertThat(db.calls(FREE)).as("of a row that is locked").isEmpty();

        db.on(LOOK, call -> {
            throw new SQLException("broken", "08006");
        });
        assertThatThrownBy(() -> statements.abandonUnlessLocked(connection, acquisition))
                .hasMessage("broken");

        db.on(LOOK, call -> Answer.row(1L));
        statements.abandonUnlessLocked(connection, acquisition);
        assertThat(db.calls(FREE)).hasSize(1);
    }

    @Test
    void abandonUnlessLocked_onH2_isAsAnyAbandonment() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        statements(DatabaseDialects.H2).abandonUnlessLocked(db.connection(), acquisition(Demand.EXCLUSIVE));
        assertThat(db.calls()).hasSize(1);
        assertThat(db.calls(FREE)).hasSize(1);
    }

    /** A single attempt on a lock held by readers returns when the last of them expires, in one statement. */
    @Test
    void attempt_besideShares_ofOneWhoDoesNotWait_isOneStatement() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        db.on("WITH updated AS", call -> Answer.row(null, ExpiryRows.BESIDE_SHARES + 700));
        assertThat(statements(DatabaseDialects.POSTGRESQL).tryAcquire(db.connection(), request(Demand.EXCLUSIVE, 0)))
                .isEqualTo(new AcquireResult.Busy(700, null));
        assertThat(db.calls()).hasSize(1);
    }

    /** What is behind the statement of the lock alone: the row is read. */
    @ParameterizedTest
    @CsvSource({
        "exclusive, true, 700, true", "exclusive, false, -1, false", "shared, true, 700, true",
        "shared, false, -1, true", "shared, false, 700, false", "permits, false, 700, true",
    })
    void attempt_readsTheRow_whereItMayHaveMetShares(String kind, boolean beside, long remaining, boolean read)
            throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        db.on("WITH updated AS", call -> Answer.row(null, remaining + (beside ? ExpiryRows.BESIDE_SHARES : 0)))
                .on(
                        "COALESCE(shares, '')",
                        call -> Answer.row("abc", 4L, 9_000L, 1_000L, "4711 host-1 driver", "", 2_000L, 1))
                .on("THEN shares ELSE", call -> Answer.row((Object) null));

        AcquireResult answer =
                statements(DatabaseDialects.POSTGRESQL).tryAcquire(db.connection(), request(demand(kind), 1));

        assertThat(answer).isEqualTo(new AcquireResult.Busy(read ? 7_000 : remaining, null));
        assertThat(db.calls("SELECT COALESCE(owner, '')")).hasSize(read ? 1 : 0);
        assertThat(db.calls("WITH updated AS")).hasSize(kind.equals("permits") ? 0 : 1);
    }

    @Test
    void renewal_ofPermits_isNotForTheLocksStatement_andOfReadersWhatThatLeaves() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        OwnerId alone = OwnerId.random();
        Grant reader = new Grant(new AcquisitionId("a", alone, Demand.SHARED), 5, 60_000, null);
        Grant lock = new Grant(new AcquisitionId("b", OWNER, Demand.EXCLUSIVE), 5, 60_000, null);
        Grant permit = new Grant(new AcquisitionId("c", OwnerId.random(), TWO), 5, 60_000, 1, null);
        db.on("= ANY(?1)", call -> Answer.row("s" + alone));

        ExpiryStatements.Renewed renewed =
                statements(DatabaseDialects.H2).renew(db.connection(), List.of(reader, lock, permit));

        assertThat(renewed.renewed()).isEqualTo(Set.of(alone));
        assertThat(renewed.unknown()).isEmpty();
        assertThat(db.calls().get(0).parameters())
                .containsExactly(List.of("a", "b"), List.of("s" + alone, OWNER.toString()));
        assertThat(db.calls("SELECT COALESCE(owner, '')"))
                .extracting(call -> call.parameters().get(0))
                .as("unless it is locked; else to see whether it is there")
                .containsExactly("c", "c");

        db.forget();
        statements(DatabaseDialects.H2).renew(db.connection(), List.of(permit));
        assertThat(db.calls("= ANY(?1)")).as("permits alone").isEmpty();
    }
}
