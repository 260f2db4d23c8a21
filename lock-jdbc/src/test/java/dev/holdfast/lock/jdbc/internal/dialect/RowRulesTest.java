package dev.holdfast.lock.jdbc.internal.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.expiring.ExpiryStatements;
import dev.holdfast.lock.jdbc.internal.expiring.RowListing;
import dev.holdfast.lock.jdbc.internal.expiring.RowState;
import dev.holdfast.lock.jdbc.internal.expiring.RowStateRepository;
import dev.holdfast.lock.jdbc.internal.expiring.SharedRow;
import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows;
import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows.BesideShares;
import dev.holdfast.lock.jdbc.internal.sql.LockStatements;
import dev.holdfast.lock.jdbc.internal.sql.RowStatements;
import dev.holdfast.lock.jdbc.internal.sql.StatementBinder;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.jdbc.internal.sql.Tokens;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the strategies make of rows, and the statements that each database has of its own, as far as no server is needed. */
final class RowRulesTest {
    private static final TableName TABLE = LockTable.VERSION.defaultTable();
    private static final String HOLDER = "4711 host-1 driver";
    private static final OwnerId OWNER = OwnerId.random();
    private static final long MYSQL_BUSY = 1L << 62;

    private static Grant grant(String name) {
        return new Grant(new AcquisitionId(name, OwnerId.random()), 5, 60_000, null);
    }

    private static AcquireRequest request() {
        return new AcquireRequest(new AcquisitionId("a", OWNER), 60_000, 0, false, null, 5_000, BackendDriver.IDENTITY);
    }

    private static AcquireResult granted(long token) {
        return new AcquireResult.Granted(new Grant(new AcquisitionId("a", OWNER), token, 60_000, null));
    }

    @ParameterizedTest
    @CsvSource({"5, 5", "1, 1", "0, -1", "-7, -1"})
    void busy_returnsTheRemainingTime_ofALiveHolder(long remaining, long reported) {
        assertThat(ExpiryRows.busy(remaining)).isEqualTo(new AcquireResult.Busy(reported, null));
        long beside = ExpiryRows.BESIDE_SHARES + Math.max(0, remaining);
        assertThat(ExpiryRows.busy(beside)).isEqualTo(new AcquireResult.Busy(reported, BesideShares.TICKET));
    }

    @ParameterizedTest
    @CsvSource({"0, 0, 0", "1, 1, 1", "5, 1, 5", "6, 2, 1", "10, 2, 5", "11, 3, 1"})
    void chunks_haveAllInOrder_noneTooLong(int size, int chunks, int last) {
        List<Integer> all = IntStream.range(0, size).boxed().toList();
        List<List<Integer>> split = ExpiryRows.chunks(all, 5);
        assertThat(split).hasSize(chunks);
        assertThat(split.stream().flatMap(List::stream).toList()).isEqualTo(all);
        if (chunks > 0) {
            assertThat(split.get(chunks - 1)).hasSize(last);
        }
    }

    @Test
    void holder_isWhoeverTheRowNames_orNobody() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        assertThat(ExpiryRows.holder(db.connection(), "SELECT x", "a")).isEmpty();
        db.on("SELECT x", call -> Answer.row(5L, HOLDER, 1_000L));
        assertThat(ExpiryRows.holder(db.connection(), "SELECT x", "a"))
                .contains(new HolderInfo("driver", "host-1", 4711, Instant.ofEpochMilli(1_000), 5));
        assertThat(db.calls().get(1).parameters()).containsExactly("a");
    }

    @Test
    void owners_ofReaders_areToldFromLocks() {
        assertThat(StatementBinder.ownerOf(new AcquisitionId("a", OWNER))).isEqualTo(OWNER.toString());
        assertThat(StatementBinder.ownerOf(new AcquisitionId("a", OWNER, Demand.SHARED)))
                .isEqualTo("s" + OWNER);
        assertThat(StatementBinder.ownerOf(new AcquisitionId("a", OWNER, new Demand.Permits(1, 2))))
                .isEqualTo(OWNER.toString());
    }

    @Test
    void tokens_areCountedInTheRow_orDrawnFromTheTablesSequence() {
        Tokens counted = DatabaseDialects.MARIADB.countedTokens();
        assertThat(counted).isEqualTo(new Tokens("1", "%1$s + 1", false));
        assertThat(counted.next("held.token")).isEqualTo("held.token + 1");
        assertThat(counted.rowsGo()).isFalse();
        assertThat(DatabaseDialects.POSTGRESQL.countedTokens().next("token"))
                .isEqualTo("token OPERATOR(pg_catalog.+) 1");
        TableName table = new TableName("shop.locks");
        for (DatabaseDialect dialect :
                new DatabaseDialect[] {DatabaseDialects.POSTGRESQL, DatabaseDialects.MARIADB, DatabaseDialects.H2}) {
            Tokens drawn = dialect.sequenceTokens(table);
            String next = switch (Product.of(dialect)) {
                case POSTGRESQL -> "pg_catalog.nextval('shop.locks_token')";
                case MARIADB -> "NEXTVAL(shop.locks_token)";
                default -> "NEXT VALUE FOR shop.locks_token";
            };
            assertThat(drawn.first()).isEqualTo(next);
            String drawnAgain = switch (Product.of(dialect)) {
                case POSTGRESQL -> "pg_catalog.currval('shop.locks_token')";
                case MARIADB -> "LASTVAL(shop.locks_token)";
                default -> "CURRENT VALUE FOR shop.locks_token";
            };
            assertThat(drawn.next("token"))
                    .isEqualTo("CASE WHEN " + next + " " + dialect.operator(">") + " token THEN " + drawnAgain
                            + " ELSE token " + dialect.operator("+") + " 9223372036854775807 END");
            assertThat(drawn.rowsGo()).isTrue();
        }
        assertThatThrownBy(() -> DatabaseDialects.MYSQL.sequenceTokens(table))
                .isInstanceOf(IllegalArgumentException.class);
    }

    /** The remaining time comes back above every token. */
    @ParameterizedTest
    @CsvSource({"7, 7, 0", "4611686018427387904, 0, -1", "4611686018427388604, 0, 700"})
    void mySql_keyIsATokenOrTheRemainingTime(long key, long token, long remaining) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.MYSQL);
        LockStatements statements =
                DatabaseDialects.MYSQL.lockStatements(TABLE, DatabaseDialects.MYSQL.countedTokens());
        db.on("UPDATE", call -> Answer.row(key));
        assertThat(statements.tryAcquire(db.connection(), request()))
                .isEqualTo(token > 0 ? granted(token) : new AcquireResult.Busy(remaining, null));
    }

    /** The short one where the lock may be free, the other after recent contention, an insert where there is no row. */
    @Test
    void mySql_statementsOfAnAttempt_goByWhatWasFound() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.MYSQL);
        LockStatements statements =
                DatabaseDialects.MYSQL.lockStatements(TABLE, DatabaseDialects.MYSQL.countedTokens());
        db.on("INSERT INTO", call -> Answer.row(1L));
        assertThat(statements.tryAcquire(db.connection(), request())).isEqualTo(granted(1));
        assertThat(kinds(db)).containsExactly("take", "update", "insert");
        db.on("token = IF(", call -> call.has("INSERT INTO") ? null : Answer.row(MYSQL_BUSY + 700))
                .forget();
        assertThat(statements.tryAcquire(db.connection(), request())).isEqualTo(new AcquireResult.Busy(700, null));
        assertThat(kinds(db)).containsExactly("take", "update");
        db.forget();
        statements.tryAcquire(db.connection(), request());
        assertThat(kinds(db)).as("after recent contention").containsExactly("update");

        db.forget();
        LockStatements idle =
                DatabaseDialects.MARIADB.lockStatements(TABLE, DatabaseDialects.MARIADB.sequenceTokens(TABLE));
        idle.tryAcquire(db.connection(), request());
        assertThat(kinds(db)).as("where rows go").containsExactly("insert");
    }

    private static List<String> kinds(RecordedDb db) {
        return db.calls().stream()
                .map(call -> call.has("INSERT INTO") ? "insert" : call.has("token = IF(") ? "update" : "take")
                .toList();
    }

    /** One statement for all would be too long for a server: there are several, each with its own results. */
    @Test
    void mySql_renewalOfVeryMany_isSplit_andTwoMoreStatementsShowWhichOfAChunk() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.MYSQL);
        LockStatements statements =
                DatabaseDialects.MYSQL.lockStatements(TABLE, DatabaseDialects.MYSQL.countedTokens());
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 5_002; i++) {
            grants.add(grant("name/" + i));
        }
        Grant last = grants.get(5_001);
        db.on("UPDATE", call -> Answer.count(call.parameters().size() > 4 ? 5_000 : 1))
                .on(
                        "SELECT owner",
                        call -> Answer.row(last.acquisition().owner().toString())
                                .and("somebody else's"));

        Set<OwnerId> renewed = statements.renew(db.connection(), grants).renewed();

        assertThat(renewed).hasSize(5_001).contains(last.acquisition().owner());
        assertThat(renewed).doesNotContain(grants.get(5_000).acquisition().owner());
        assertThat(db.calls()).extracting(call -> call.parameters().size()).containsExactly(10_000, 4, 4, 2);
        assertThat(db.calls().get(1).parameters())
                .containsExactly(
                        "name/5000",
                        "name/5001",
                        grants.get(5_000).acquisition().owner().toString(),
                        last.acquisition().owner().toString());
        assertThat(db.calls()).allMatch(call -> call.sql().startsWith("/*client prepare*/"));
    }

    /** Two find no row and both insert it. */
    @ParameterizedTest
    @CsvSource({"23505, true", "23505, false", "08006, false"})
    void h2_insertMeetsAnother_looksAgain(String state, boolean granted) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        LockStatements statements = DatabaseDialects.H2.lockStatements(TABLE, DatabaseDialects.H2.countedTokens());
        AtomicInteger updates = new AtomicInteger();
        db.on("INSERT", call -> {
                    throw new SQLException("failed", state);
                })
                .on("UNION ALL", call -> updates.incrementAndGet() > 1 && granted ? Answer.row(7L, null) : null);
        if (state.equals("08006")) {
            assertThatThrownBy(() -> statements.tryAcquire(db.connection(), request()))
                    .hasMessage("failed");
        } else {
            assertThat(statements.tryAcquire(db.connection(), request()))
                    .isEqualTo(granted ? granted(7) : new AcquireResult.Busy(-1, null));
            assertThat(updates).hasValue(2);
        }
    }

    @Test
    void postgres_answer_isTheTokenOrTheRemainingTime_orNothingIsKnown() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        LockStatements statements =
                DatabaseDialects.POSTGRESQL.lockStatements(TABLE, DatabaseDialects.POSTGRESQL.countedTokens());
        assertThat(statements.tryAcquire(db.connection(), request())).isEqualTo(new AcquireResult.Busy(-1, null));
        db.on("updated", call -> Answer.row(null, 700L));
        assertThat(statements.tryAcquire(db.connection(), request())).isEqualTo(new AcquireResult.Busy(700, null));
        db.on("updated", call -> Answer.row(7L, null));
        assertThat(statements.tryAcquire(db.connection(), request())).isEqualTo(granted(7));
        String me = OWNER.toString();
        assertThat(db.calls().get(0).parameters())
                .containsExactly(
                        me, me, me, 60_000L, 60_000L, HOLDER, "a", me, "a", me, 60_000L, 60_000L, HOLDER, "a", "a");
    }

    /** The query reads one row more than it returns, and finds a name whatever follows its prefix. */
    @Test
    void listing_hasTheHoldersOfEachName_andWhetherThereAreMore() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        SharedRow two = new SharedRow(
                3,
                null,
                List.of(
                        new SharedRow.Share("x", new Demand.Permits(1, 3), 1, 4, 9_000, 900, HOLDER),
                        new SharedRow.Share("y", new Demand.Permits(1, 3), 2, 3, 2_000, 900, HOLDER)));
        db.on(
                "ORDER BY name",
                call -> Answer.row("a", 5L, HOLDER, 1_000L, "abc", 9_000L, "", 2_000L)
                        .and("b", 6L, HOLDER, 1_000L, "sabc", 9_000L, "", 2_000L)
                        .and("c", 7L, HOLDER, 1_000L, "shared", 9_000L, two.text(), 2_000L));

        LockListing all = new RowListing(DatabaseDialects.H2, TABLE, true).list(db.connection(), "p", 3);
        assertThat(all.more()).isFalse();
        assertThat(all.locks()).hasSize(3);
        assertThat(all.locks().get(0).holders()).extracting(HolderInfo::demand).containsExactly(Demand.EXCLUSIVE);
        assertThat(all.locks().get(1).holders()).extracting(HolderInfo::demand).containsExactly(Demand.SHARED);
        assertThat(all.locks().get(2).holders())
                .as("without the one whose time is over")
                .extracting(HolderInfo::token)
                .containsExactly(4L);

        LockListing some = new RowListing(DatabaseDialects.H2, TABLE, true).list(db.connection(), "p", 2);
        assertThat(some.more()).isTrue();
        assertThat(some.locks()).hasSize(2);
        assertThat(db.calls().get(0).parameters().get(2)).isEqualTo(4L);
        assertThat(db.calls().get(1).parameters().get(2)).isEqualTo(3L);
        assertThat(db.calls().get(0).parameters().get(0)).isEqualTo("p");

        db.on("ORDER BY name", call -> Answer.row("a", 5L, HOLDER, 1_000L));
        assertThat(new RowListing(DatabaseDialects.H2, TABLE, false)
                        .list(db.connection(), "p", 3)
                        .locks())
                .singleElement()
                .satisfies(lock -> assertThat(lock.holders())
                        .containsExactly(new HolderInfo("driver", "host-1", 4711, Instant.ofEpochMilli(1_000), 5)));
    }

    /** A crash takes back neither a grant nor a token, also where the database does not wait for its disk by itself. */
    @Test
    void onPostgres_whatGrants_waitsForTheDisk_aReleaseDoesNot() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        Connection connection = db.connection();
        Tokens tokens = DatabaseDialects.POSTGRESQL.countedTokens();
        LockStatements statements = DatabaseDialects.POSTGRESQL.lockStatements(TABLE, tokens);
        RowStateRepository states = new RowStateRepository(DatabaseDialects.POSTGRESQL, TABLE);
        RowState none = states.read(connection, "a");
        RowState shared = RowState.read("a", "shared", 7, 3_000, 1_000, HOLDER, "", 2_000, true);
        db.forget();

        statements.tryAcquire(connection, request());
        statements.renew(connection, List.of(grant("a")));
        states.change(connection, none, none, true);
        states.change(connection, shared, shared, true);
        states.change(connection, shared, shared, false);

        List<String> granting = new ArrayList<>(db.calls().stream()
                .map(RecordedDb.Call::sql)
                .filter(sql -> !sql.startsWith("SELECT held.owner"))
                .toList());
        RowStatements rows = DatabaseDialects.POSTGRESQL.rowStatements(LockTable.ROW_LOCK.defaultTable());
        granting.add(rows.mint());
        granting.add(rows.mintNext());
        assertThat(granting).hasSize(7).allMatch(sql -> sql.contains(PostgresSql.DURABLY));
        db.forget();
        new ExpiryStatements(DatabaseDialects.POSTGRESQL, TABLE, tokens, null).release(connection, grant("a"));
        assertThat(db.calls().get(0).sql()).contains("pg_catalog.set_config('synchronous_commit', 'off', true)");
    }

    /** The server ends idle transactions, and ends a wait after each slice, so that both sides notice the other's end. */
    @Test
    void onPostgres_rowLocksAreBoundedByTheServer() {
        RowStatements rows = DatabaseDialects.POSTGRESQL.rowStatements(LockTable.ROW_LOCK.defaultTable());
        assertThat(List.of(rows.tryLock(), rows.waitLock()))
                .allMatch(sql -> sql.contains("pg_catalog.set_config('lock_timeout', '45 s', true)")
                        && sql.contains(
                                "set_config('idle_in_transaction_session_timeout', CAST(? AS pg_catalog.text), true)")
                        && sql.contains("idle, waiting, unlimited FROM bounded"));
    }
}
