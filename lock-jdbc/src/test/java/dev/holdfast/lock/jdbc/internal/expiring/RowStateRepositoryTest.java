package dev.holdfast.lock.jdbc.internal.expiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.jdbc.internal.expiring.SharedRow.Mark;
import dev.holdfast.lock.jdbc.internal.expiring.SharedRow.Share;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.RowChange;
import dev.holdfast.lock.jdbc.internal.sql.RowOwners;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** How a row is read, how its next state is computed, and the single statement that writes it. */
final class RowStateRepositoryTest {
    private static final String NAME = "orders/42";
    private static final String HOLDER = "4711 host-1 driver";
    private static final String LOUD = "pg_notify";
    private static final Mark MARK = new Mark("waits", Demand.EXCLUSIVE, 2_500, 7);
    private static final Share SHARE = new Share("a", Demand.SHARED, 0, 6, 3_000, 1_000, HOLDER);
    private static final Share OVER = new Share("b", Demand.SHARED, 0, 5, 2_000, 900, HOLDER);
    private static final SharedRow WRITTEN = new SharedRow(3, MARK, List.of(OVER, SHARE));

    /** A row with token 7 that ends at 3,000 and is read at 2,000, or at 4,000 if it does not live any more. */
    private static RowState row(String owner, SharedRow shared, boolean live) {
        return RowState.read(NAME, owner, 7, 3_000, 1_000, HOLDER, shared.text(), live ? 2_000 : 4_000, live);
    }

    private static RowStateRepository states(DatabaseDialect dialect) {
        return new RowStateRepository(dialect, LockTable.VERSION.defaultTable());
    }

    @Test
    void read_whatOneLockOwns_hasLimitAndMark_andNoShares() {
        RowState lock = row("abc", WRITTEN, true);
        assertThat(lock.isExclusive()).isTrue();
        assertThat(lock.shared()).isEqualTo(new SharedRow(3, MARK, List.of()));
        assertThat(lock.exclusiveHolder())
                .contains(new HolderInfo("driver", "host-1", 4711, Instant.ofEpochMilli(1_000), 7));

        RowState over = row("abc", WRITTEN, false);
        assertThat(over.isExclusive()).as("its time is over").isFalse();
        assertThat(over.exclusiveHolder()).isEmpty();
        assertThat(over.shared()).isEqualTo(new SharedRow(3, null, List.of()));
        assertThat(row("", WRITTEN, true).isExclusive()).as("without an owner").isFalse();
    }

    @Test
    void read_sharedRow_hasThoseWhoseTimeIsNotOver() {
        RowState shared = row(RowOwners.SHARED, WRITTEN, true);
        assertThat(shared.isExclusive()).isFalse();
        assertThat(shared.exclusiveHolder()).isEmpty();
        assertThat(shared.shared()).isEqualTo(new SharedRow(3, MARK, List.of(SHARE)));
        assertThat(row(RowOwners.SHARED, WRITTEN, false).shared().shares()).isEmpty();
    }

    /** Its end was read rounded down: it may be valid for that long. */
    @Test
    void read_loneReader_isAShare_forAMillisecondMore() {
        RowState reader = row("sabc", new SharedRow(3, MARK, List.of(SHARE)), true);
        assertThat(reader.isExclusive()).isFalse();
        assertThat(reader.shared().mark()).isEqualTo(MARK);
        assertThat(reader.shared().shares())
                .containsExactly(new Share("abc", Demand.SHARED, 0, 7, 3_001, 1_000, HOLDER));
        assertThat(row("sabc", WRITTEN, false).shared().shares()).isEmpty();
    }

    @Test
    void held_isASharedRow_thatEndsWithItsLastShare_orNobodysFromNowOn() {
        RowState row = row("sabc", SharedRow.NOTHING, true);
        Share late = new Share("c", Demand.SHARED, 0, 8, 9_000, 2_000, HOLDER);
        RowState held = row.held(new SharedRow(3, null, List.of(SHARE, late)), 8);
        assertThat(held.owner()).isEqualTo(RowOwners.SHARED);
        assertThat(held.token()).isEqualTo(8);
        assertThat(held.expiresMillis()).isEqualTo(9_000);
        assertThat(SharedRow.of(held.text()).shares()).containsExactly(SHARE, late);
        RowState left = row.held(new SharedRow(3, null, List.of()), 7);
        assertThat(left.owner()).isEmpty();
        assertThat(left.expiresMillis()).as("not before the reading").isEqualTo(2_000);
        assertThat(left.text()).isEqualTo("3;");
    }

    /** The row of an exclusive holder needs no list of shares. */
    @ParameterizedTest
    @CsvSource({"abc, true, false", "sabc, true, false", "shared, true, true", "abc, false, true", "sabc, false, true"})
    void marked_keepsOwnerTokenAndEnd_andWritesSharesOfASharedRowOnly(String owner, boolean live, boolean written) {
        RowState row = row(owner, SharedRow.NOTHING, live);
        SharedRow next = new SharedRow(4, MARK, List.of(SHARE));
        RowState marked = row.marked(next);
        assertThat(marked.owner()).isEqualTo(owner);
        assertThat(marked.token()).isEqualTo(7);
        assertThat(marked.expiresMillis()).isEqualTo(3_000);
        assertThat(marked.shared()).isEqualTo(next);
        assertThat(SharedRow.of(marked.text())).isEqualTo(written ? next : new SharedRow(4, MARK, List.of()));
    }

    @Test
    void read_noRow_isAFreeOne_asOfTheDatabasesTime() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.MARIADB);
        RowState none = states(DatabaseDialects.MARIADB).read(db.connection(), NAME);
        assertThat(none.exists()).isFalse();
        assertThat(none.nowMillis()).isEqualTo(RecordedDb.NOW_MILLIS);
        assertThat(none.token()).isZero();
        assertThat(none.shared()).isEqualTo(SharedRow.NOTHING);
        assertThat(db.calls()).hasSize(2);
        assertThat(db.calls().get(0).parameters()).containsExactly(NAME);

        db.on("COALESCE", call -> Answer.row("abc", 7L, 3_000L, 1_000L, HOLDER, "3;", 2_000L, 1))
                .forget();
        assertThat(states(DatabaseDialects.MARIADB).read(db.connection(), NAME))
                .isEqualTo(row("abc", new SharedRow(3, null, List.of()), true));
        db.on("COALESCE", call -> Answer.row("abc", 7L, 3_000L, 1_000L, HOLDER, "3;", 4_000L, 0));
        assertThat(states(DatabaseDialects.MARIADB).read(db.connection(), NAME).live())
                .isFalse();
        assertThat(db.calls()).hasSize(2);
    }

    /** Compares all that was read; a changed expiry is computed from the time of the change. */
    @ParameterizedTest
    @EnumSource
    void change_writesTheNextState_whereTheRowIsAsItWasRead(Product product) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        Connection connection = db.connection();
        RowState read = row("sabc", SharedRow.NOTHING, true);
        Share late = new Share("c", Demand.SHARED, 0, 8, 9_000, 2_000, HOLDER);
        RowState held = read.held(new SharedRow(3, null, List.of(late)), 8);
        db.on(
                "SET expires",
                call -> dialect == DatabaseDialects.POSTGRESQL ? Answer.row((Object) null) : Answer.count(1));

        assertThat(states(dialect).change(connection, read, held, false)).isEqualTo(RowChange.DONE);
        assertThat(states(dialect).change(connection, read, read.marked(new SharedRow(4, null, List.of())), false))
                .isEqualTo(RowChange.DONE);
        RowState lock = row("abc", SharedRow.NOTHING, true);
        states(dialect).change(connection, lock, lock.marked(new SharedRow(4, null, List.of())), false);
        states(dialect).change(connection, lock, lock.held(SharedRow.NOTHING, 8), false);
        RowState ended = row("shared", SharedRow.NOTHING, false);
        states(dialect).change(connection, ended, ended.held(SharedRow.NOTHING, 7), false);
        RowState free = row("", SharedRow.NOTHING, false);
        states(dialect).change(connection, free, free.held(SharedRow.NOTHING, 7), false);

        assertThat(db.calls().stream().map(RecordedDb.Call::parameters).toList())
                .isEqualTo(List.of(
                        parameters(7_000, "shared", 8, held.text(), "sabc", 0),
                        parameters(0, "sabc", 7, "4;", "sabc", 0),
                        parameters(0, "abc", 7, "4;", "abc", 1),
                        parameters(1, null, 8, null, "abc", 0),
                        parameters(1, null, 7, null, "shared", 0),
                        parameters(1, null, 7, null, "-", 0)));
    }

    private static List<Object> parameters(
            long forMillis, String owner, long token, String text, String ownerRead, long sameLock) {
        return Arrays.asList(forMillis, forMillis, owner, token, text, NAME, ownerRead, 7L, "-", 3_000L, sameLock);
    }

    @ParameterizedTest
    @EnumSource
    void change_rowIsAnotherOne_isNone(Product product) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        RowState read = row("sabc", SharedRow.NOTHING, true);
        for (boolean notify : new boolean[] {true, false}) {
            assertThat(states(dialect).change(db.connection(), read, read.held(SharedRow.NOTHING, 8), notify))
                    .isEqualTo(RowChange.NONE);
        }
        assertThat(db.calls(LOUD)).hasSize(dialect == DatabaseDialects.POSTGRESQL ? 1 : 0);
    }

    @ParameterizedTest
    @EnumSource
    void change_noRowWasThere_insertsIt_unlessSomebodyElseHas(Product product) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        Connection connection = db.connection();
        RowState none = states(dialect).read(connection, NAME);
        RowState held = none.held(new SharedRow(3, null, List.of(SHARE)), 6);
        boolean postgres = dialect == DatabaseDialects.POSTGRESQL;
        db.on("INSERT", call -> postgres ? Answer.row(1L) : Answer.count(1)).forget();

        assertThat(states(dialect).change(connection, none, held, true)).isEqualTo(RowChange.DONE);
        states(dialect).change(connection, none, none.marked(new SharedRow(3, null, List.of())), true);
        db.on("INSERT", call -> Answer.none());
        assertThat(states(dialect).change(connection, none, held, true)).isEqualTo(RowChange.NONE);

        assertThat(db.calls().get(0).parameters()).containsExactly(NAME, "shared", 6L, 1_000L, held.text());
        assertThat(db.calls().get(1).parameters()).containsExactly(NAME, null, 0L, 0L, "3;");
        assertThat(db.calls()).hasSize(3).allMatch(call -> call.has("INSERT"));
    }

    @ParameterizedTest
    @CsvSource({"H2, 23505, true", "H2, 08006, false", "POSTGRESQL, 23505, false"})
    void change_insertFails_isNone_whereTheRowIsThereOnH2(Product product, String state, boolean none)
            throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        RowState row = states(dialect).read(db.connection(), NAME);
        db.on("INSERT", call -> {
            throw new SQLException("failed", state);
        });
        if (none) {
            assertThat(states(dialect).change(db.connection(), row, row, true)).isEqualTo(RowChange.NONE);
        } else {
            assertThatThrownBy(() -> states(dialect).change(db.connection(), row, row, true))
                    .hasMessage("failed");
        }
    }

    /** As after a release: waiters poll then. */
    @Test
    void change_withoutTheRightToNotify_isSilentFromThenOn() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        Connection connection = db.connection();
        RowStateRepository states = states(DatabaseDialects.POSTGRESQL);
        RowState read = row("sabc", SharedRow.NOTHING, true);
        RowState left = read.held(SharedRow.NOTHING, 7);
        db.on("SET expires", call -> Answer.row("waited for")).on(LOUD, call -> {
            throw new SQLException("broken", "08006");
        });
        assertThatThrownBy(() -> states.change(connection, read, left, true)).hasMessage("broken");
        db.on(LOUD, call -> {
            throw new SQLException("permission denied for function pg_notify", "42501");
        });

        assertThatThrownBy(() -> states.change(connection, read, left, true))
                .isInstanceOf(SQLTransactionRollbackException.class)
                .hasMessage("to be changed without a notification")
                .satisfies(
                        failure -> assertThat(DatabaseDialects.failure(failure)).isEqualTo(JdbcFailure.CONFLICT));
        assertThat(states.change(connection, read, left, true)).isEqualTo(RowChange.DONE_AND_AWAITED);
        assertThat(db.calls(LOUD)).hasSize(2);
        assertThat(db.calls().get(2).sql()).contains("'nobody'");
    }
}
