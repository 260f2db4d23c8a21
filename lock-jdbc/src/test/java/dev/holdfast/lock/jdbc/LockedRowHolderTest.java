package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.LEASE_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.RecordedRowLocks;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** What keeps and ends a row lock, step by step: renewals, releases, the holder's description, and close. */
final class LockedRowHolderTest extends RecordedRowLocks {
    @Test
    void info_pollsSlowly_andHasLocksAlone() {
        BackendInfo info = backend.info();
        assertThat(info.name()).isEqualTo("jdbc");
        assertThat(info.blocking()).isTrue();
        assertThat(info.minLeaseMillis()).isEqualTo(100);
        assertThat(info.pollMinMillis()).isEqualTo(2_000);
        assertThat(info.pollMaxMillis()).isEqualTo(5_000);
        assertThat(List.of(info.expiring(), info.listing(), info.fifo(), info.ordered()))
                .containsOnly(false);
        assertThat(info.demands()).containsExactly(Demand.Kind.EXCLUSIVE);
    }

    @Test
    void holder_abandoned_rollsBack_andLeavesItsConnectionToTheNext() {
        free(4);
        BackendDriver.of(backend, "nobody's").abandon();
        assertThat(db.events()).as("of what is not known").isEmpty();
        BackendDriver holder = BackendDriver.of(backend, NAME);
        holder.acquire();

        holder.abandon();

        assertThat(db.events()).endsWith("1 rollback");
        acquire(backend, NAME);
        assertThat(db.calls(TRY)).extracting(RecordedDb.Call::connection).containsExactly(1, 1);
    }

    @Test
    void renewal_isARoundTripOnTheRowsConnection_andOfWhatHasEndedALoss() {
        free(4);
        Grant grant = acquire(backend, NAME);
        assertThat(renew(backend, grant)).isEqualTo(new RenewResult.Renewed(LEASE_MILLIS));
        RecordedDb.Call beat = db.calls().get(2);
        assertThat(beat.sql()).isEqualTo(BEAT);
        assertThat(beat.connection()).isEqualTo(1);
        assertThat(beat.networkTimeoutMillis()).as("as patient as the server").isEqualTo((int) LEASE_MILLIS);

        beat(call -> {
            throw broken();
        });
        assertThat(renew(backend, grant))
                .isEqualTo(new RenewResult.Lost(
                        LossReason.SESSION_LOST, "the connection that held its row has ended: broken"));
        assertThat(db.events()).contains("1 abort");
        assertThat(renew(backend, grant))
                .isEqualTo(new RenewResult.Lost(LossReason.SESSION_LOST, "its row is no longer locked"));
    }

    @Test
    void renewal_ofAWaiter_isALoss() {
        taken();
        CountDownLatch turn = new CountDownLatch(1);
        db.on(WAIT, call -> {
            await(turn);
            throw broken();
        });
        BackendDriver waiter = BackendDriver.of(backend, NAME);
        waiter.queueUp();

        assertThat(renew(backend, new Grant(waiter.acquisition(), 1, LEASE_MILLIS, null)))
                .isEqualTo(new RenewResult.Lost(LossReason.SESSION_LOST, "it is not held any more"));
        turn.countDown();
    }

    @Test
    void renewal_withoutAnAnswer_isUnknown_andSaysWhy() {
        free(4);
        Grant grant = acquire(backend, NAME);
        CountDownLatch goOn = new CountDownLatch(1);
        IllegalStateException fault = new IllegalStateException("a driver's fault");
        beat(call -> {
            throw fault;
        });
        assertThat(renew(backend, grant)).isEqualTo(new RenewResult.Unknown(fault.toString(), fault));
        beat(call -> {
            await(goOn);
            return null;
        });
        assertThat(answer(backend.renew(List.of(grant), 20)).get(0))
                .isInstanceOfSatisfying(
                        RenewResult.Unknown.class,
                        unknown -> assertThat(unknown.detail()).isEqualTo("its connection has not answered yet"));
        goOn.countDown();
    }

    /** The engine has few threads for renewals: one of a slow connection keeps none of them. */
    @Test
    void renewal_thatTakesLong_doesNotKeepItsCaller() {
        free(4);
        Grant grant = acquire(backend, NAME);
        CountDownLatch goOn = new CountDownLatch(1);
        beat(call -> {
            await(goOn);
            return null;
        });
        CompletableFuture<List<RenewResult>> renewed =
                backend.renew(List.of(grant), 20_000).toCompletableFuture();
        assertThat(renewed).isNotDone();
        goOn.countDown();
        assertThat(renewed.join()).containsExactly(new RenewResult.Renewed(grant.leaseMillis()));
    }

    @Test
    void release_byItsTokenAlone_rollsBack() {
        free(4);
        Grant grant = acquire(backend, NAME);
        Grant other = new Grant(grant.acquisition(), grant.token() + 1, LEASE_MILLIS, null);
        assertThat(release(backend, other)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(db.events()).doesNotContain("1 rollback");
        assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(db.events()).endsWith("1 rollback");
        assertThat(db.timeouts().get(db.timeouts().size() - 1)).isBetween(2_000, (int) BackendDriver.TIMEOUT_MILLIS);
        assertThat(release(backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
    }

    /** The server has freed the row when it lost the connection. */
    @Test
    void release_connectionHasBroken_wasNotHeld() {
        free(4);
        Grant grant = acquire(backend, NAME);
        db.before = (connection, method) -> {
            if (method.equals("rollback")) {
                throw broken();
            }
        };

        assertThat(release(backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(db.events()).contains("1 abort");
    }

    /** The last one, unless the row can be locked. */
    @Test
    void holder_isToldWhileTheRowIsLocked() {
        AtomicBoolean locked = new AtomicBoolean(true);
        assertThat(BackendDriver.holder(backend, NAME)).isEmpty();
        assertThat(db.calls()).as("nothing to look for").hasSize(1);
        db.on("SELECT token, holder", call -> Answer.row(5L, "4711 host-1 driver", 86_400_000L))
                .on("FOR UPDATE SKIP LOCKED", call -> locked.get() ? null : Answer.row(1L));

        assertThat(BackendDriver.holder(backend, NAME)).hasValueSatisfying(holder -> {
            assertThat(holder.token()).isEqualTo(5);
            assertThat(holder.who()).isEqualTo("driver");
            assertThat(holder.since()).isEqualTo("1970-01-02T00:00:00Z");
        });
        assertThat(db.calls()).allSatisfy(call -> assertThat(call.parameters()).containsExactly(NAME));
        locked.set(false);
        assertThat(BackendDriver.holder(backend, NAME)).isEmpty();
    }

    @Test
    void close_freesWhatIsHeld_thenTheDataSource() {
        free(4);
        acquire(backend, NAME);
        db.forget();

        backend.close();

        assertThat(db.events()).containsSubsequence("1 rollback", "1 setAutoCommit true", "1 close");
        assertThat(closed).isTrue();
        assertThatThrownBy(() -> acquire(backend, NAME))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("the client is closed");
    }
}
