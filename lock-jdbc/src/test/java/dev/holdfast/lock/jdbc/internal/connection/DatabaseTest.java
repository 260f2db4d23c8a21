package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.dialect.Schema;
import dev.holdfast.lock.jdbc.internal.notification.WaitTicket;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.support.LogCapture;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is asked of a database when a client is made, what is said of it, and how it is left. No server. */
final class DatabaseTest {
    private static final long TIMEOUT_MILLIS = 30_000;
    private static final SQLException NO_TABLE = new SQLException("no such table", "42P01");
    private static final SQLException NO_RIGHT = new SQLException("no right", "42501");
    private static final SQLException GONE = new SQLException("gone", "08006");

    private final ScriptedDatabase scripted = ScriptedDatabase.postgres();

    private Database open(boolean create) {
        return open(JdbcStrategy.VERSION, create, TIMEOUT_MILLIS, () -> {});
    }

    private Database open(JdbcStrategy strategy, boolean create, long timeoutMillis, Runnable close) {
        return Database.open(
                scripted.dataSource(),
                new Database.SchemaRequest(
                        JdbcInternals.table(strategy),
                        JdbcInternals.table(strategy).defaultTable(),
                        create),
                timeoutMillis,
                close);
    }

    /** Once there is a table, it is there for each statement but that. */
    private void tableIsMissingUntil(String statement) {
        AtomicBoolean there = new AtomicBoolean();
        scripted.when("holdfast_", sql -> {
            if (sql.startsWith(statement)) {
                there.set(true);
            } else if (!there.get() && !sql.startsWith("CREATE")) {
                throw NO_TABLE;
            }
            return null;
        });
    }

    @Test
    void open_tableIsThere_isProbedAndNoMore() {
        open(true).close();
        String columns = LockTable.VERSION.columns(DatabaseDialects.POSTGRESQL);
        assertThat(scripted.statements())
                .filteredOn(sql -> sql.contains("FROM pg_catalog.pg_class"))
                .hasSize(1);
        assertThat(scripted.statements())
                .filteredOn(sql -> !sql.contains("FROM pg_catalog.pg_class"))
                .containsExactly(
                        "SELECT pg_catalog.version()",
                        "SELECT " + columns + " FROM holdfast_lock WHERE FALSE",
                        "INSERT INTO holdfast_lock (" + columns + ") SELECT " + columns
                                + " FROM holdfast_lock WHERE FALSE",
                        "UPDATE holdfast_lock SET token = token WHERE FALSE",
                        "SHOW server_encoding");
        assertThat(scripted.count("close")).as("given back").isEqualTo(scripted.count("open"));
    }

    @Test
    void open_rowsThatGo_theirRightsAndTheSequenceAreProbedToo() {
        open(JdbcStrategy.UNIQUE_INDEX, false, TIMEOUT_MILLIS, () -> {}).close();
        assertThat(scripted.statements())
                .contains("DELETE FROM holdfast_held WHERE FALSE", "SELECT pg_catalog.nextval('holdfast_held_token')");
    }

    @Test
    void open_noConnection_isUnavailable() {
        scripted.refuseConnections(new SQLException("nobody there", "08001"));
        assertThatThrownBy(() -> open(true))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("connecting: no usable answer from the database (nobody there)");
    }

    @Test
    void open_noRight_saysWhichAndForWhom() {
        scripted.refuse("INSERT", NO_RIGHT).answer("CURRENT_USER", "shop");
        assertThatThrownBy(() -> open(false))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage("lock table 'holdfast_lock': PostgreSQL denies access to table 'holdfast_lock' (no right);"
                        + " run: GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO \"shop\"")
                .hasCause(NO_RIGHT);

        scripted.refuse("CURRENT_USER", GONE);
        assertThatThrownBy(() -> open(true))
                .hasMessageEndingWith(" TO <the user>")
                .hasCause(NO_RIGHT);
        assertThat(scripted.statements()).noneMatch(sql -> sql.startsWith("CREATE"));
    }

    @Test
    void open_otherRefusal_asksForNoUser() {
        scripted.refuse("UPDATE", new SQLException("not so", "42601"));
        assertThatThrownBy(() -> open(false))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith("lock table 'holdfast_lock': PostgreSQL refuses the statement (not so)");
        assertThat(scripted.statements()).noneMatch(sql -> sql.contains("CURRENT_USER"));
    }

    @Test
    void open_answerIsLostWhileProbing_isUnavailable() {
        scripted.refuse("UPDATE", GONE);
        assertThatThrownBy(() -> open(true))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("lock table 'holdfast_lock': no usable answer from PostgreSQL (gone)");
        assertThat(scripted.statements()).noneMatch(sql -> sql.startsWith("CREATE"));
    }

    @Test
    void open_tableIsMissing_isCreatedIfAskedForAlone() {
        tableIsMissingUntil("CREATE TABLE");
        assertThatThrownBy(() -> open(false))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith(
                        "lock table 'holdfast_lock' is missing on"
                                + " PostgreSQL, or has other columns (no such table); create it with createTable(true), with holdfast.createTable=true in the address, or run: CREATE TABLE")
                .hasCause(NO_TABLE);
        assertThat(scripted.statements()).noneMatch(sql -> sql.startsWith("CREATE"));

        open(true).close();
        assertThat(scripted.statements()).last().isEqualTo("SHOW server_encoding");
        assertThat(scripted.statements().stream().filter(sql -> sql.startsWith("CREATE")))
                .hasSize(1);
    }

    /** Another client runs the first statement first, so it fails here: the remaining statements still run. */
    @Test
    void open_createdByTwoAtOnce_isThereForBoth() {
        tableIsMissingUntil("CREATE INDEX");
        scripted.refuse("CREATE SEQUENCE", new SQLException("exists already", "42P07"));
        open(JdbcStrategy.UNIQUE_INDEX, true, TIMEOUT_MILLIS, () -> {}).close();
        assertThat(scripted.statements())
                .containsSubsequence(new Schema(
                                LockTable.UNIQUE_INDEX,
                                DatabaseDialects.POSTGRESQL,
                                LockTable.UNIQUE_INDEX.defaultTable())
                        .statements()
                        .toArray(String[]::new));
    }

    @Test
    void open_cannotBeCreated_saysWhy() {
        tableIsMissingUntil("never");
        scripted.refuse("CREATE", NO_RIGHT);
        assertThatThrownBy(() -> open(true))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith(
                        "lock table 'holdfast_lock' cannot be created on PostgreSQL (no right); create it"
                                + " with a user that may: CREATE TABLE IF NOT EXISTS holdfast_lock (")
                .hasCause(NO_RIGHT);

        scripted.refuse("CREATE", new SQLTransientConnectionException("too late", "08000"));
        assertThatThrownBy(() -> open(true))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith(
                        "lock table 'holdfast_lock' creation: no usable answer from PostgreSQL (too late)");

        scripted.when("CREATE", sql -> null);
        assertThatThrownBy(() -> open(true))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith("lock table 'holdfast_lock' cannot be created on PostgreSQL (no such table)");
    }

    @Test
    void open_createdAndNotToBeUsed_saysThat() {
        AtomicBoolean created = new AtomicBoolean();
        scripted.when("holdfast_", sql -> {
            if (sql.startsWith("CREATE")) {
                created.set(true);
                return null;
            }
            throw created.get() ? NO_RIGHT : NO_TABLE;
        });
        assertThatThrownBy(() -> open(true))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("denies access to table 'holdfast_lock'")
                .hasCause(NO_RIGHT);
    }

    @Test
    void open_tableOfAnother_saysWhatItLacks() {
        scripted.refuse("shares", NO_TABLE).refuse("SELECT awaited", NO_TABLE);
        assertThatThrownBy(() -> open(true))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith(
                        "lock table 'holdfast_lock' on PostgreSQL lacks the columns [shares, awaited] (no such"
                                + " table); choose another table, or stop whoever uses this one and run: ALTER TABLE holdfast_lock"
                                + " RENAME TO holdfast_lock_old; CREATE TABLE")
                .hasCause(NO_TABLE);
        assertThat(scripted.statements()).noneMatch(sql -> sql.startsWith("CREATE"));

        scripted.refuse("SELECT token FROM", GONE);
        assertThatThrownBy(() -> open(true))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("lock table 'holdfast_lock': no usable answer from PostgreSQL (gone)");
    }

    @Test
    void open_encodingIsNotTold_isUnavailable() {
        scripted.refuse("server_encoding", GONE);
        assertThatThrownBy(() -> open(false))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("encoding: no usable answer from PostgreSQL (gone)");
    }

    /** Only PostgreSQL refuses characters outside its encoding. The holder's description is replaced; the name is not. */
    @ParameterizedTest
    @ValueSource(strings = {"LATIN1", "SQL_ASCII", "UTF8"})
    void storable_databaseOfAnotherEncoding_identityInAscii(String encoding) {
        scripted.answer("server_encoding", encoding);
        Identity identity = new Identity("Zoë 注文", "höst", 7);
        AcquireRequest request = new AcquireRequest(
                BackendDriver.newAcquisition("a"),
                1_000,
                200,
                false,
                new WaitTicket(BackendDriver.newAcquisition("a")),
                30,
                identity);
        try (Database database = open(false)) {
            AcquireRequest storable = database.storable(request);
            if (encoding.equals("UTF8")) {
                assertThat(storable).isSameAs(request);
            } else {
                assertThat(storable.identity()).isEqualTo(new Identity("Zo? ??", "h?st", 7));
                assertThat(storable)
                        .usingRecursiveComparison()
                        .ignoringFields("identity")
                        .isEqualTo(request);
            }
        }
    }

    @Test
    void storable_otherDatabases_areNotAsked() {
        ScriptedDatabase other = ScriptedDatabase.mariaDb();
        var request = new Database.SchemaRequest(LockTable.VERSION, new TableName("t"), false);
        try (Database database = Database.open(other.dataSource(), request, TIMEOUT_MILLIS, () -> {})) {
            assertThat(database.dialect()).isEqualTo(DatabaseDialects.MARIADB);
            assertThat(database.table()).isEqualTo(new TableName("t"));
            AcquireRequest asked = new AcquireRequest(
                    BackendDriver.newAcquisition("a"), 1_000, 0, true, null, 30, new Identity("ë", "ö", 7));
            assertThat(database.storable(asked)).isSameAs(asked);
        }
        assertThat(other.statements()).noneMatch(sql -> sql.contains("encoding"));
    }

    @Test
    void close_whatCameFirst_thenTheConnections_onADaemon() throws Exception {
        List<String> order = new ArrayList<>();
        CompletableFuture<Thread> closer = new CompletableFuture<>();
        Database database = open(JdbcStrategy.VERSION, false, TIMEOUT_MILLIS, () -> {
            order.add("data source");
            closer.complete(Thread.currentThread());
        });

        database.close(() -> order.add("first"));

        assertThat(order).containsExactly("first", "data source");
        assertThat(closer.get(10, TimeUnit.SECONDS).isDaemon()).isTrue();
        assertThat(closer.get().getName()).isEqualTo("holdfast-jdbc-close");
        assertThatThrownBy(() -> database.run(1_000, connection -> true)).hasMessage("the client is closed");
        assertThatThrownBy(() -> database.runForHold(1_000, connection -> true)).hasMessage("the client is closed");
        database.inBackground(() -> order.add("late"));
        assertThat(order).hasSize(2);
    }

    @Test
    void close_fails_warnsOnce() {
        Database database = open(JdbcStrategy.VERSION, false, TIMEOUT_MILLIS, () -> {
            throw new IllegalStateException("stuck");
        });
        try (LogCapture log = new LogCapture()) {
            database.close();
            assertThat(log.ours())
                    .singleElement()
                    .asString()
                    .contains("WARN", "Database", "lock table 'holdfast_lock': closing the connections failed");
        }
    }

    /** An interrupt ends no wait here; the flag is set again afterwards. */
    @Test
    void close_interrupted_waitsAllTheSame() {
        AtomicBoolean closed = new AtomicBoolean();
        Database database = open(JdbcStrategy.VERSION, false, TIMEOUT_MILLIS, () -> {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(30));
            closed.set(true);
        });
        Thread.currentThread().interrupt();

        database.close();

        assertThat(Thread.interrupted()).as("flag").isTrue();
        assertThat(closed).as("closed").isTrue();
        database.close();
        assertThat(Thread.interrupted())
                .as("flag of a close without an interrupt")
                .isFalse();
    }

    /** A driver may wait for longer than anybody wants the result. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void close_statementHasNoAnswer_connectionIsAborted_andItsThreadEnds(boolean silent) throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        scripted.when("SELECT slow", sql -> {
            begun.countDown();
            while (scripted.count("abort") == 0) {
                LockSupport.parkNanos(1_000_000);
            }
            throw GONE;
        });
        Database database = open(JdbcStrategy.VERSION, false, TIMEOUT_MILLIS, () -> {});
        CompletableFuture<Thread> worker = new CompletableFuture<>();
        CompletableFuture<?> caller =
                CompletableFuture.runAsync(() -> assertThatThrownBy(() -> database.run(TIMEOUT_MILLIS, connection -> {
                            worker.complete(Thread.currentThread());
                            return Schema.execute(connection, "SELECT slow");
                        }))
                        .hasMessageContaining("gone"));
        begun.await();
        if (silent) {
            assertThatThrownBy(() -> database.run(TIMEOUT_MILLIS, connection -> {
                        throw GONE;
                    }))
                    .isSameAs(GONE);
        }

        database.close();

        caller.get(60, TimeUnit.SECONDS);
        worker.get().join(60_000);
        assertThat(worker.get().isAlive()).isFalse();
    }

    /** It had no answer the last time, so that a driver may take as long as it likes to part with it. */
    @Test
    void close_databaseIsSilent_hardlyWaits() {
        CountDownLatch hanging = new CountDownLatch(1);
        Database database = open(JdbcStrategy.VERSION, false, TIMEOUT_MILLIS, () -> awaitQuietly(hanging));
        assertThatThrownBy(() -> database.run(TIMEOUT_MILLIS, connection -> {
                    throw GONE;
                }))
                .isSameAs(GONE);

        long startNanos = System.nanoTime();
        database.close();

        assertThat(Duration.ofNanos(System.nanoTime() - startNanos))
                .as("of 30 s")
                .isLessThan(Duration.ofSeconds(20));
        hanging.countDown();
    }

    /** A refusal is an answer, and so is what comes after a silence. */
    @ParameterizedTest
    @ValueSource(strings = {"a refusal", "then an answer", "then one about a hold"})
    void close_databaseHasAnswered_waits(String how) throws Exception {
        AtomicBoolean closed = new AtomicBoolean();
        Database database = open(JdbcStrategy.VERSION, false, TIMEOUT_MILLIS, () -> {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(150)); // longer than a silent one would get
            closed.set(true);
        });
        SQLException failure = how.equals("a refusal") ? new SQLException("not so", "42601") : GONE;
        assertThatThrownBy(() -> database.run(TIMEOUT_MILLIS, connection -> {
                    throw failure;
                }))
                .isSameAs(failure);
        if (how.equals("then an answer")) {
            database.run(TIMEOUT_MILLIS, connection -> true);
        } else if (how.equals("then one about a hold")) {
            database.runForHold(TIMEOUT_MILLIS, connection -> true);
        }

        database.close();

        assertThat(closed).isTrue();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            assertThat(latch.await(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
