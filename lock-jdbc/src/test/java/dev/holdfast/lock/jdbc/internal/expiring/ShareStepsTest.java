package dev.holdfast.lock.jdbc.internal.expiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.expiring.SharedRow.Mark;
import dev.holdfast.lock.jdbc.internal.expiring.SharedRow.Share;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.RowChange;
import dev.holdfast.lock.jdbc.internal.sql.RowOwners;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a request makes of a row that is read at 2,000 ms: its answer, and the row that is written. */
final class ShareStepsTest {
    private static final String NAME = "orders/42";
    private static final String HOLDER = "4711 host-1 driver";
    private static final OwnerId ME = OwnerId.random();
    private static final Demand ONE_OF_TWO = new Demand.Permits(1, 2);
    private static final Demand TWO_OF_TWO = new Demand.Permits(2, 2);
    private static final Share READER = new Share("a", Demand.SHARED, 0, 7, 5_000, 1_000, HOLDER);
    private static final Share PERMIT = new Share("a", ONE_OF_TWO, 1, 7, 5_000, 1_000, HOLDER);

    private final RecordedDb db = new RecordedDb(DatabaseDialects.H2);
    private final Connection connection = connection();
    private final RowShares shares = new RowShares(DatabaseDialects.H2, LockTable.VERSION.defaultTable(), 1_500);

    private Connection connection() {
        try {
            return db.connection();
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** Token 7, until 5,000; changes succeed. */
    private void row(String owner, SharedRow row) {
        db.on("SELECT COALESCE", call -> Answer.row(owner, 7L, 5_000L, 1_000L, HOLDER, row.text(), 2_000L, 1))
                .on("SET expires", call -> Answer.count(1))
                .forget();
    }

    private void shared(int limit, @Nullable Mark mark, Share... all) {
        row(RowOwners.SHARED, new SharedRow(limit, mark, List.of(all)));
    }

    private static AcquisitionId acquisition(Demand demand) {
        return new AcquisitionId(NAME, ME, demand);
    }

    private AcquireResult ask(Demand demand, long waitMillis) throws SQLException {
        return shares.tryAcquire(
                connection,
                new AcquireRequest(
                        acquisition(demand), 60_000, waitMillis, false, null, 5_000, BackendDriver.IDENTITY));
    }

    private void assertUnchanged() {
        assertThat(db.calls("SET expires")).isEmpty();
    }

    /** What the row's column of shares becomes. */
    private SharedRow written() {
        assertThat(db.calls("SET expires")).hasSize(1);
        return SharedRow.of((String) db.calls("SET expires").get(0).parameters().get(4));
    }

    private static AcquireResult granted(Demand demand, long token, int slot) {
        return new AcquireResult.Granted(new Grant(acquisition(demand), token, 60_000, slot, null));
    }

    private static AcquireResult.Busy waiting(long remainingMillis) {
        return new AcquireResult.Busy(remainingMillis, new RowShares.MarkTicket(ME));
    }

    private static Mark mine(Demand demand, long untilMillis) {
        return new Mark(ME.toString(), demand, untilMillis, 7);
    }

    @Test
    void room_isAShareOfTheNextToken_sinceNow_untilItsLeaseIsOver() throws Exception {
        shared(0, null, READER);
        assertThat(ask(Demand.SHARED, 0)).isEqualTo(granted(Demand.SHARED, 8, 0));
        Share share = new Share(ME.toString(), Demand.SHARED, 0, 8, 62_001, 2_000, HOLDER);
        assertThat(written()).isEqualTo(new SharedRow(0, null, List.of(READER, share)));
        assertThat(db.calls("SET expires").get(0).parameters().get(3))
                .as("the row's token")
                .isEqualTo(8L);

        shared(2, null, PERMIT);
        assertThat(ask(ONE_OF_TWO, 0)).isEqualTo(granted(ONE_OF_TWO, 8, 2));
        row("", SharedRow.NOTHING);
        assertThat(ask(TWO_OF_TWO, 0)).isEqualTo(granted(TWO_OF_TWO, 8, 1));
        assertThat(written().limit()).as("of a name that had none").isEqualTo(2);
    }

    /** Its token stays, and the lease is this attempt's. */
    @Test
    void ownShare_isGrantedAgain_withALeaseFromNowOn() throws Exception {
        Share share = new Share(ME.toString(), Demand.SHARED, 0, 6, 3_000, 900, HOLDER);
        shared(0, null, READER, share);
        assertThat(ask(Demand.SHARED, 0)).isEqualTo(granted(Demand.SHARED, 6, 0));
        assertThat(written()).isEqualTo(new SharedRow(0, null, List.of(READER, share.until(62_001))));
        assertThat(db.calls("SET expires").get(0).parameters().get(3)).isEqualTo(7L);
    }

    @Test
    void noRoom_ofOneWhoDoesNotWait_leavesTheRowAsItIs() throws Exception {
        Share first = new Share("b", ONE_OF_TWO, 2, 6, 2_700, 900, HOLDER);
        shared(2, null, PERMIT, first);
        assertThat(ask(ONE_OF_TWO, 0)).as("until the first ends").isEqualTo(new AcquireResult.Busy(700, null));
        assertUnchanged();
    }

    @Test
    void noRoom_ofOneWhoWaits_isMarked() throws Exception {
        shared(2, null, PERMIT);
        assertThat(ask(TWO_OF_TWO, 1)).isEqualTo(waiting(3_000));
        assertThat(written()).isEqualTo(new SharedRow(2, mine(TWO_OF_TWO, 3_500), List.of(PERMIT)));

        shared(0, null, READER);
        assertThat(ask(Demand.EXCLUSIVE, 1)).isEqualTo(waiting(3_000));
        assertThat(written()).isEqualTo(new SharedRow(0, mine(Demand.EXCLUSIVE, 3_500), List.of(READER)));
    }

    /** Another one was first: there is one mark only. */
    @Test
    void noRoom_anotherOneIsMarked_leavesItsMark() throws Exception {
        Mark others = new Mark("waits", TWO_OF_TWO, 2_400, 7);
        shared(2, others, PERMIT);
        assertThat(ask(TWO_OF_TWO, 1)).isEqualTo(new AcquireResult.Busy(400, null));
        assertUnchanged();
        shared(0, others, PERMIT);
        assertThat(ask(ONE_OF_TWO, 1)).as("not even for one").isEqualTo(new AcquireResult.Busy(400, null));
        assertThat(written()).as("with the limit").isEqualTo(new SharedRow(2, others, List.of(PERMIT)));
    }

    /** Its own is written again when a tenth of its time has passed, not at each poll. */
    @ParameterizedTest
    @CsvSource({"3350, false", "3349, true"})
    void noRoom_markedAlready_isMarkedAgainAfterAWhile(long untilMillis, boolean again) throws Exception {
        shared(2, mine(TWO_OF_TWO, untilMillis), PERMIT);
        AcquireResult answer = ask(TWO_OF_TWO, 1);
        assertThat(answer).isEqualTo(waiting(Math.min(3_000, untilMillis - 2_000)));
        if (again) {
            assertThat(written().mark()).isEqualTo(mine(TWO_OF_TWO, 3_500));
        } else {
            assertUnchanged();
        }
    }

    /** It has just become free: that is for the statement of the lock alone, which counts. */
    @Test
    void room_forALock_isLeftToItsOwnStatement() throws Exception {
        row("", new SharedRow(2, null, List.of()));
        assertThat(ask(Demand.EXCLUSIVE, 1)).isEqualTo(new AcquireResult.Busy(-1, null));
        assertUnchanged();
    }

    @Test
    void besideALock_isBusyUntilItsEnd_andPermitsSayTheirLimitWhereThereIsNone() throws Exception {
        row("abc", new SharedRow(2, null, List.of()));
        assertThat(ask(ONE_OF_TWO, 1)).isEqualTo(new AcquireResult.Busy(3_000, null));
        assertThat(ask(Demand.SHARED, 1)).isEqualTo(new AcquireResult.Busy(3_000, null));
        assertThat(ask(new Demand.Permits(1, 3), 1)).isEqualTo(new AcquireResult.OtherLimit(2));
        assertUnchanged();
        row("abc", SharedRow.NOTHING);
        assertThat(ask(ONE_OF_TWO, 0)).as("without a wait").isEqualTo(new AcquireResult.Busy(3_000, null));
        assertUnchanged();
        assertThat(ask(ONE_OF_TWO, 1)).isEqualTo(new AcquireResult.Busy(3_000, null));
        assertThat(written()).isEqualTo(new SharedRow(2, null, List.of()));
    }

    /** Its mark held back others, and would go on. */
    @Test
    void otherLimit_takesTheMarkOfTheOneThatIsRefused() throws Exception {
        shared(2, null, PERMIT);
        assertThat(ask(new Demand.Permits(1, 3), 1)).isEqualTo(new AcquireResult.OtherLimit(2));
        assertUnchanged();
        shared(2, mine(new Demand.Permits(1, 3), 2_500), PERMIT);
        assertThat(ask(new Demand.Permits(1, 3), 1)).isEqualTo(new AcquireResult.OtherLimit(2));
        assertThat(written()).isEqualTo(new SharedRow(2, null, List.of(PERMIT)));
    }

    @Test
    void leave_tellsWhatWasHeld_notWhatWasMarked() throws Exception {
        Share share = new Share(ME.toString(), Demand.SHARED, 0, 6, 3_000, 900, HOLDER);
        shared(0, null, READER, share);
        assertThat(shares.leave(connection, acquisition(Demand.SHARED))).isEqualTo(RowChange.DONE);
        assertThat(written()).isEqualTo(new SharedRow(0, null, List.of(READER)));
        assertThat(db.calls("SET expires").get(0).parameters().get(3)).isEqualTo(7L);

        shared(2, mine(TWO_OF_TWO, 2_500), PERMIT);
        assertThat(shares.leave(connection, acquisition(TWO_OF_TWO))).isEqualTo(RowChange.NONE);
        assertThat(written()).isEqualTo(new SharedRow(2, null, List.of(PERMIT)));

        shared(2, null, PERMIT);
        assertThat(shares.leave(connection, acquisition(TWO_OF_TWO))).isEqualTo(RowChange.NONE);
        assertUnchanged();
    }

    /** PostgreSQL's statement notifies waiters, if there are any; it notifies none if only a mark changes. */
    @Test
    void leave_onPostgreSql_notifies() throws Exception {
        RecordedDb postgres = new RecordedDb(DatabaseDialects.POSTGRESQL);
        Share share = new Share(ME.toString(), Demand.SHARED, 0, 6, 3_000, 900, HOLDER);
        SharedRow row = new SharedRow(0, null, List.of(READER, share));
        postgres.on(
                        "SELECT COALESCE",
                        call -> Answer.row(RowOwners.SHARED, 7L, 5_000L, 1_000L, HOLDER, row.text(), 2_000L, 1))
                .on("SET expires", call -> Answer.row("notified"));
        RowShares there = new RowShares(DatabaseDialects.POSTGRESQL, LockTable.VERSION.defaultTable(), 1_500);
        assertThat(there.leave(postgres.connection(), acquisition(Demand.SHARED)))
                .isEqualTo(RowChange.DONE_AND_AWAITED);
        assertThat(postgres.calls("SET expires"))
                .singleElement()
                .satisfies(call -> assertThat(call.sql()).contains("pg_notify("));
    }

    /** A lock looks for a mark in the row only while it has one. */
    @Test
    void abandon_ofALock_looksWhereItHasAMark() throws Exception {
        shares.abandon(connection, acquisition(Demand.EXCLUSIVE));
        assertThat(db.calls()).as("it never waited next to shares").isEmpty();

        shared(0, null, READER);
        ask(Demand.EXCLUSIVE, 1);
        shared(0, mine(Demand.EXCLUSIVE, 3_500), READER);
        shares.abandon(connection, acquisition(Demand.EXCLUSIVE));
        assertThat(written()).isEqualTo(new SharedRow(0, null, List.of(READER)));
        db.forget();
        shares.abandon(connection, acquisition(Demand.EXCLUSIVE));
        assertThat(db.calls()).as("again").isEmpty();

        shared(0, null, READER);
        ask(Demand.EXCLUSIVE, 1);
        shares.noteMutex(acquisition(Demand.EXCLUSIVE));
        db.forget();
        shares.abandon(connection, acquisition(Demand.EXCLUSIVE));
        assertThat(db.calls())
                .as("granted or refused by the lock's statement since")
                .isEmpty();
    }

    /** Until it succeeds, for a while; then it is a conflict like another. */
    @Test
    void change_othersWereFasterEachTime_isAConflict() {
        Share share = new Share(ME.toString(), Demand.SHARED, 0, 6, 3_000, 900, HOLDER);
        shared(0, null, READER, share);
        db.on("SET expires", call -> Answer.none());
        Grant grant = new Grant(acquisition(Demand.SHARED), 6, 60_000, null);

        assertConflict(() -> ask(Demand.SHARED, 0));
        assertConflict(() -> shares.leave(connection, acquisition(Demand.SHARED)));
        assertConflict(() -> shares.renew(connection, List.of(grant), new HashSet<>(), new HashSet<>()));
        assertConflict(() -> shares.changeLimit(connection, NAME, 1, 2));
    }

    private void assertConflict(ThrowingCallable call) {
        db.forget();
        assertThatThrownBy(call)
                .isInstanceOf(SQLTransactionRollbackException.class)
                .hasMessage("others changed the row each time")
                .satisfies(
                        failure -> assertThat(DatabaseDialects.failure(failure)).isEqualTo(JdbcFailure.CONFLICT));
        assertThat(db.calls("SET expires")).hasSize(20);
        assertThat(db.calls("SELECT COALESCE")).hasSize(20);
    }

    @Test
    void renewal_lastsForTheLease_ofSharesThatAreThere() throws Exception {
        Share share = new Share(ME.toString(), Demand.SHARED, 0, 6, 3_000, 900, HOLDER);
        Grant grant = new Grant(acquisition(Demand.SHARED), 6, 60_000, null);
        shared(0, null, READER, share);
        assertThat(renewed(grant)).containsExactly(ME);
        assertThat(written()).isEqualTo(new SharedRow(0, null, List.of(READER, share.until(62_001))));
        shared(0, null, READER);
        assertThat(renewed(grant)).isEmpty();
        row("abc", SharedRow.NOTHING);
        assertThat(renewed(grant)).isEmpty();
        assertUnchanged();
    }

    private Set<OwnerId> renewed(Grant grant) throws SQLException {
        Set<OwnerId> renewed = new HashSet<>();
        Set<OwnerId> unknown = new HashSet<>();
        shares.renew(connection, List.of(grant), renewed, unknown);
        assertThat(unknown).isEmpty();
        return renewed;
    }

    @Test
    void holders_areTheLock_orThoseWhoShareIt() throws Exception {
        row("abc", SharedRow.NOTHING);
        assertThat(shares.holders(connection, NAME)).singleElement().satisfies(holder -> {
            assertThat(holder.demand()).isEqualTo(Demand.EXCLUSIVE);
            assertThat(holder.token()).isEqualTo(7);
        });
        shared(2, null, PERMIT);
        assertThat(shares.holders(connection, NAME)).singleElement().satisfies(holder -> {
            assertThat(holder.demand()).isEqualTo(ONE_OF_TWO);
            assertThat(holder.slot()).isEqualTo(1);
        });
    }

    @ParameterizedTest
    @CsvSource({"0, 5, 3, 3, true", "2, 2, 3, 3, true", "2, 5, 3, 2, false", "3, 5, 3, 3, false", "3, 3, 3, 3, false"})
    void changeLimit_fromTheStoredOne_orFromNone(int stored, int from, int to, int then, boolean changed)
            throws Exception {
        shared(stored, null, PERMIT);
        assertThat(shares.changeLimit(connection, NAME, from, to)).isEqualTo(then);
        if (changed) {
            assertThat(written()).isEqualTo(new SharedRow(3, null, List.of(PERMIT)));
        } else {
            assertUnchanged();
        }
    }
}
