package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.BackendDriver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Who waits has it in turn, by the line in the row. The time of a claim is set by hand: the row's expiry, from which it counts, lies
 * almost a second ahead for one that stands, and long ago for one that has ended.
 */
final class TurnTakingTest {
    private static final String NAME = "orders/42";
    private static final int ROUNDS = 5;

    private final AtomicLong statements = new AtomicLong();
    private final TableName table = new TableName(SharedDb.newTable());
    private Db db;
    private HikariDataSource pool;
    private Database database;
    private LockBackend backend;

    private void open(SharedDb shared) throws Exception {
        db = shared.db();
        pool = db.pool(config -> {});
        var request = new Database.SchemaRequest(JdbcStrategy.VERSION, table, true);
        database = Database.open(new CountingDataSource(pool, statements), request, 5_000, () -> {});
        backend = ExpiringRowBackend.of(JdbcStrategy.VERSION, database);
    }

    @AfterEach
    void close() {
        database.close();
        pool.close();
    }

    private BackendDriver waiter(Demand demand) {
        BackendDriver waiter = BackendDriver.of(backend, NAME, demand, 60_000);
        waiter.queueUp();
        return waiter;
    }

    private BackendDriver waiter() {
        return waiter(Demand.EXCLUSIVE);
    }

    /** As if it was released so long ago, or is going to be in so long. */
    private void freeSince(Duration ago) throws Exception {
        db.execute("UPDATE " + table + " SET expires = " + db.dialect.nowPlusMillis("(" + -ago.toMillis() + ")"));
    }

    private void claimStands() throws Exception {
        freeSince(Duration.ofMillis(-900));
    }

    private void claimHasEnded() throws Exception {
        freeSince(Duration.ofMinutes(1));
    }

    private String line() throws Exception {
        try (var connection = db.connect();
                var statement = connection.createStatement();
                var rows = statement.executeQuery("SELECT COALESCE(waiters, '') FROM " + table)) {
            rows.next();
            return rows.getString(1);
        }
    }

    private static String line(BackendDriver... waiters) {
        List<String> entries = new ArrayList<>();
        for (BackendDriver each : waiters) {
            entries.add(WaitingLine.entry(each.acquisition()));
        }
        return String.join("", entries);
    }

    @ParameterizedTest
    @EnumSource
    void waiters_haveItInTheOrderInWhichTheyCame(SharedDb shared) throws Exception {
        open(shared);
        Grant held = acquire(backend, NAME);
        List<BackendDriver> waiting = new ArrayList<>(List.of(waiter(), waiter(), waiter()));
        for (int round = 0; round < ROUNDS; round++) {
            release(backend, held);
            claimStands();
            waiting.add(waiter()); // whoever asks again at once
            claimStands();
            assertThat(waiting.get(1).tryAcquire(BackendDriver.WAIT_MILLIS))
                    .as("the second, in round " + round)
                    .isInstanceOf(AcquireResult.Busy.class);
            claimStands();
            assertThat(BackendDriver.tryAcquire(backend, NAME))
                    .as("who does not wait")
                    .isInstanceOf(AcquireResult.Busy.class);
            held = waiting.remove(0).acquireQueued();
            assertThat(held.token()).isEqualTo(round + 2L);
        }
        assertThat(line()).isEqualTo(line(waiting.toArray(BackendDriver[]::new)));
    }

    @ParameterizedTest
    @EnumSource
    void firstDoesNotCome_othersMay_andItsPlaceIsGone(SharedDb shared) throws Exception {
        open(shared);
        Grant held = acquire(backend, NAME);
        BackendDriver dead = waiter();
        BackendDriver alsoDead = waiter();
        BackendDriver third = waiter();
        BackendDriver fourth = waiter();
        release(backend, held);
        claimStands();
        assertThat(third.tryAcquire(BackendDriver.WAIT_MILLIS)).isInstanceOf(AcquireResult.Busy.class);

        claimHasEnded();
        held = third.acquireQueued();
        assertThat(line()).as("without " + line(dead, alsoDead)).isEqualTo(line(fourth));
        release(backend, held);
        claimHasEnded();
        acquire(backend, NAME);
        assertThat(line()).isEmpty();
    }

    /** The lease of a holder that died ends; then the same holds. */
    @ParameterizedTest
    @EnumSource
    void leaseEnds_firstIsTheNext(SharedDb shared) throws Exception {
        open(shared);
        acquire(backend, NAME);
        BackendDriver first = waiter();
        BackendDriver second = waiter();
        claimHasEnded();
        second.acquireQueued();
        assertThat(line()).isEmpty();
        assertThat(first.tryAcquire(BackendDriver.WAIT_MILLIS)).isInstanceOf(AcquireResult.Busy.class);
        assertThat(line()).as("at the end, which is the beginning").isEqualTo(line(first));
    }

    @ParameterizedTest
    @EnumSource
    void clockSetBack_noClaim(SharedDb shared) throws Exception {
        open(shared);
        Grant held = acquire(backend, NAME);
        waiter();
        release(backend, held);
        freeSince(Duration.ofHours(-1));
        assertThat(acquire(backend, NAME).token()).isEqualTo(held.token() + 1);
    }

    @ParameterizedTest
    @EnumSource
    void waiterGivesUp_nextIsTheFirst(SharedDb shared) throws Exception {
        open(shared);
        Grant held = acquire(backend, NAME);
        BackendDriver first = waiter();
        BackendDriver second = waiter();
        release(backend, held);
        first.abandon();
        claimStands();
        assertThat(line()).isEqualTo(line(second));
        assertThat(second.acquireQueued().token()).isEqualTo(held.token() + 1);
        assertThat(line()).isEmpty();
    }

    /** Readers stand in the line too, and let each other pass. */
    @ParameterizedTest
    @EnumSource
    void readerIsFirst_anyReaderMayTakeIt_andNoWriterWaitsForBoth(SharedDb shared) throws Exception {
        open(shared);
        Grant held = acquire(backend, NAME);
        BackendDriver reader = waiter(Demand.SHARED);
        BackendDriver writer = waiter();
        BackendDriver other = waiter(Demand.SHARED);
        release(backend, held);
        claimStands();
        assertThat(writer.tryAcquire(BackendDriver.WAIT_MILLIS)).isInstanceOf(AcquireResult.Busy.class);
        other.acquireQueued();
        assertThat(line()).isEqualTo(line(writer));
        reader.acquireQueued();
    }

    @ParameterizedTest
    @EnumSource
    void readerJoinsAnother_itsPlaceIsGone(SharedDb shared) throws Exception {
        open(shared);
        Grant held = acquire(backend, NAME);
        BackendDriver reader = waiter(Demand.SHARED);
        BackendDriver other = waiter(Demand.SHARED);
        BackendDriver writer = waiter();
        release(backend, held);
        claimStands();
        reader.acquireQueued();
        assertThat(line()).isEqualTo(line(other, writer));
        other.acquireQueued();
        assertThat(line()).isEqualTo(line(writer));
    }

    /** A grant whose answer was lost is found again, and nobody's place is touched. */
    @ParameterizedTest
    @EnumSource
    void grantedAgain_lineStays(SharedDb shared) throws Exception {
        open(shared);
        Grant held = acquire(backend, NAME);
        BackendDriver first = waiter();
        BackendDriver second = waiter();
        release(backend, held);
        long token = first.acquireQueued().token();
        assertThat(first.acquireQueued().token()).isEqualTo(token);
        assertThat(line()).isEqualTo(line(second));
    }

    @ParameterizedTest
    @EnumSource
    void lineIsFull_othersWaitOutsideIt(SharedDb shared) throws Exception {
        open(shared);
        Grant held = acquire(backend, NAME);
        for (int i = 0; i < 32; i++) {
            waiter();
        }
        BackendDriver outside = waiter();
        assertThat(line()).hasSize(1024).doesNotContain(line(outside));
        release(backend, held);
        claimHasEnded();
        assertThat(outside.acquireQueued().token()).isEqualTo(held.token() + 1);
    }

    @ParameterizedTest
    @EnumSource
    void clientAlone_isNeverPutOff_andPaysNothing(SharedDb shared) throws Exception {
        open(shared);
        release(backend, acquire(backend, NAME));
        long before = statements.get();
        for (int round = 0; round < ROUNDS; round++) {
            release(backend, BackendDriver.of(backend, NAME).acquireQueued());
        }
        assertThat(statements.get() - before).isEqualTo(2L * ROUNDS);
    }

    /** A wait: the attempt, the entry, looks, the attempt that is granted; a look and an update where the update does not tell. */
    @ParameterizedTest
    @EnumSource
    void wait_statements(SharedDb shared) throws Exception {
        open(shared);
        Grant held = acquire(backend, NAME);
        boolean twice = db.dialect.mysqlFamily();
        long before = statements.get();
        BackendDriver first = waiter();
        assertThat(statements.get() - before).as("attempt and entry").isEqualTo(twice ? 3 : 2);
        BackendDriver second = waiter();
        before = statements.get();
        for (int i = 0; i < 10; i++) {
            first.queueUp();
            second.queueUp();
        }
        assertThat(statements.get() - before).as("one plain read each").isEqualTo(20);
        release(backend, held);
        claimStands();
        before = statements.get();
        first.acquireQueued();
        assertThat(statements.get() - before).as("read and update").isEqualTo(2);
    }

    /** The first in the line looks often, the others when it may be their turn. */
    @ParameterizedTest
    @EnumSource
    void ticket_firstAsksOften(SharedDb shared) throws Exception {
        open(shared);
        acquire(backend, NAME);
        var first = waiter().queueUp().ticket();
        var second = waiter().queueUp().ticket();
        assertThat(first).isNotNull();
        assertThat(second).isNotNull();
        assertThat(first.askAgainMillis()).isBetween(2L, 250L);
        assertThat(second.askAgainMillis()).isGreaterThan(first.askAgainMillis());
    }

    @ParameterizedTest
    @EnumSource
    void entries_areAsLongAsTheyAreCountedFor(SharedDb shared) throws Exception {
        open(shared);
        AcquisitionId one = BackendDriver.newAcquisition(NAME);
        assertThat(WaitingLine.entry(one)).hasSize(WaitingLine.ENTRY).matches("[0-9a-f]+");
        AcquisitionId reader = new AcquisitionId(NAME, one.owner(), Demand.SHARED);
        assertThat(WaitingLine.entry(reader)).hasSize(WaitingLine.ENTRY).startsWith("s");
    }
}
