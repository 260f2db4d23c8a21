package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdBackendCloseTest;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdTicket;
import dev.holdfast.lock.etcd.internal.acquisition.KeyState;
import dev.holdfast.lock.etcd.internal.acquisition.PredecessorTicket;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.acquisition.TestAcquisitions;
import dev.holdfast.lock.etcd.internal.client.MadeUpWatch;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.options.GetOption;
import io.grpc.Status;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What the backend does without a server. See {@link EtcdBackendCloseTest}. */
final class EtcdLockBackendTest extends ScriptedBackend {
    private final Queue<String> lost = new ConcurrentLinkedQueue<>();

    private void listen() {
        backend.setGrantListener(new GrantListener() {
            @Override
            public void suspect(Grant grant, String detail) {}

            @Override
            public void lost(Grant grant, LossReason reason, String detail) {
                lost.add(grant.token() + " " + reason + " " + detail);
            }
        });
    }

    /** A waiter without a lease is called, on the backend's own thread, as soon as it listens. */
    @Test
    void threadOfAClientThatWasNotClosed_keepsNoProcessAlive_andEndsWithTheClient() throws Exception {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        CompletableFuture<Thread> calledOn = new CompletableFuture<>();
        backend.subscribe(
                new PredecessorTicket(acquisition, acquisition.key(), 5, 10),
                () -> calledOn.complete(Thread.currentThread()));

        Thread thread = calledOn.get(1, TimeUnit.MINUTES);

        assertThat(thread).isNotSameAs(Thread.currentThread());
        assertThat(thread.isDaemon()).isTrue();
        assertThat(thread.getName()).isEqualTo("holdfast-etcd");
        assertThat(acquisition.takeNotification())
                .as("its next attempt is a write")
                .isTrue();

        backend.close();
        thread.join(TimeUnit.MINUTES.toMillis(1));
        assertThat(thread.isAlive()).isFalse();
    }

    /** The notification already means a change, so no poll is needed before its write. */
    @Test
    void waiterWhoseTurnItMayBe_isCalled_andWritesNext() {
        EtcdAcquisition acquisition = TestAcquisitions.waitingOn(TestAcquisitions.lease(7), 10);
        AtomicInteger calls = new AtomicInteger();
        var ahead = TestAcquisitions.create().key();
        Subscription subscription =
                backend.subscribe(new PredecessorTicket(acquisition, ahead, 5, 10), calls::incrementAndGet);
        assertThat(acquisition.takeNotification()).isFalse();

        etcd.listeners.get(0).onNext(MadeUpWatch.deleted(ahead, 12));

        assertThat(calls).hasValue(1);
        assertThat(acquisition.takeNotification()).isTrue();
        subscription.close();
        assertThat(etcd.closedWatches).hasValue(1);
    }

    @Test
    void info_isWhatEachModeCanDo() {
        BackendInfo queue = backend.info();
        assertThat(queue.name()).isEqualTo("etcd");
        assertThat(queue.fifo()).isTrue();
        assertThat(queue.handsOver()).isTrue();
        assertThat(queue.demands()).isEqualTo(EnumSet.allOf(Demand.Kind.class));

        BackendInfo single = backend(EtcdMode.SINGLE_KEY).info();
        assertThat(single.fifo()).isFalse();
        assertThat(single.handsOver()).isFalse();
        assertThat(single.demands()).containsExactly(Demand.Kind.EXCLUSIVE);
        for (BackendInfo info : List.of(queue, single)) {
            assertThat(info.listing()).isTrue();
            assertThat(info.blocking()).isFalse();
            assertThat(info.minLeaseMillis()).isEqualTo(2_000);
            assertThat(info.pollMinMillis()).isEqualTo(5_000);
            assertThat(info.pollMaxMillis()).isEqualTo(5_000);
        }
    }

    @Test
    void whatIsNotOurs_needsNoRequest() {
        AcquisitionId somebodys = BackendDriver.newAcquisition(TestAcquisitions.NAME);

        assertThat(BackendDriver.release(backend, new Grant(somebodys, 5, LEASE, 0, "another client's")))
                .isEqualTo(ReleaseResult.NOT_HELD);
        BackendDriver.answer(backend.abandon(somebodys, 1_000));

        assertThat(etcd.requests).isEmpty();
    }

    @Test
    void failures_areThoseOfTheLockApi() {
        CompletionStage<AcquireResult> attempt = driver(backend).send(0);
        etcd.next("grant").fails(Status.PERMISSION_DENIED);
        assertThatThrownBy(() -> BackendDriver.answer(attempt))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("read and write permission");

        var holder = backend.holder(TestAcquisitions.NAME, 60_000);
        assertThat(((GetOption) etcd.next("get").arguments().get(1)).getLimit()).isEqualTo(1);
        etcd.next("get").fails(Status.UNAVAILABLE);
        assertThatThrownBy(() -> BackendDriver.answer(holder)).isInstanceOf(LockUnavailableException.class);

        var holders = backend.holders(TestAcquisitions.NAME, 60_000);
        assertThat(((GetOption) etcd.next("get").arguments().get(1)).getLimit()).isEqualTo(5_000);
        etcd.next("get").fails(Status.UNAVAILABLE);
        assertThatThrownBy(() -> BackendDriver.answer(holders)).isInstanceOf(LockUnavailableException.class);

        var listing = backend.list("", 10, 60_000);
        etcd.next("get").fails(Status.UNAVAILABLE);
        assertThatThrownBy(() -> BackendDriver.answer(listing)).isInstanceOf(LockUnavailableException.class);

        var limit = backend.changeLimit(TestAcquisitions.NAME, 3, 4, 20);
        assertThatThrownBy(() -> BackendDriver.answer(limit))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("etcd did not answer in time; check that the cluster has a leader and can be reached");

        var single = backend(EtcdMode.SINGLE_KEY).changeLimit(TestAcquisitions.NAME, 3, 4, 20);
        assertThatThrownBy(() -> BackendDriver.answer(single))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage("a single key has no permits; use the mode queue");
    }

    /** Its time limit is nearly the longest of all waits, so an error would go unnoticed before. */
    @Test
    void attemptAndRemovalWithoutAnswer_failWhenTheirTimeIsOver() {
        Grant grant = granted(driver(backend), 7, 10);
        assertThatThrownBy(() -> BackendDriver.answer(backend.release(grant, 20)))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("etcd did not answer in time");
        BackendDriver driver = driver(backend);
        assertThatThrownBy(() -> BackendDriver.answer(driver.send(0, 20)))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("etcd did not answer in time");
    }

    @Test
    void leaseThatEnds_isALoss_reportedOnce_andNothingIsKept() {
        listen();
        Grant grant = granted(driver(backend), 7, 10);
        assertThat(EtcdInternals.size(backend)).isEqualTo(2);
        var renewed = backend.renew(List.of(grant), 60_000);
        etcd.next("timeToLive").answers(ScriptedEtcd.lives(-1));
        etcd.next("keepAliveOnce").fails(Status.NOT_FOUND);

        assertThat(BackendDriver.answer(renewed)).singleElement().isInstanceOf(RenewResult.Lost.class);

        assertThat(lost).containsExactly("10 REVOKED etcd lease 7: etcd no longer has the lease: expired or revoked");
        assertThat(EtcdInternals.size(backend)).isZero();
        assertThat(etcd.count("txn")).as("nothing must be removed").isEqualTo(1);
    }

    /** No renewal reports it. */
    @Test
    void waiterWhoseLeaseEnds_isCalled_whileItListens() {
        granted(BackendDriver.of(backend, "other", LEASE), 7, 9);
        BackendDriver waiter = driver(backend);
        EtcdTicket ticket = queued(waiter, 10);
        AtomicInteger calls = new AtomicInteger();
        Subscription subscription = backend.subscribe(ticket, calls::incrementAndGet);
        assertThat(calls).hasValue(0);

        driver(backend).send(0);
        etcd.next("txn").fails(Status.NOT_FOUND);

        assertThat(calls).hasValue(1);
        assertThat(ticket.acquisition().takeNotification()).isTrue();
        subscription.close();
        ticket.acquisition().wake();
        assertThat(calls).hasValue(1);
    }

    @Test
    void whatWasHandedOverForAKeyThatIsGone_isTakenBack() {
        listen();
        BackendDriver driver = driver(backend);
        granted(driver, 7, 10);
        CompletionStage<AcquireResult> again = driver.send(0);
        etcd.next("txn").answers(ScriptedEtcd.txn(false, 20, ScriptedEtcd.read(), ScriptedEtcd.read()));
        written(21);

        assertThat(driver.granted(BackendDriver.answer(again)).token()).isEqualTo(21);

        assertThat(lost).containsExactly("10 REVOKED its key was deleted before the hand-over");
    }

    @Test
    void lossWithoutListener_isNoFault() {
        BackendDriver driver = driver(backend);
        Grant grant = granted(driver, 7, 10);
        var renewed = backend.renew(List.of(grant), 60_000);
        etcd.next("timeToLive").answers(ScriptedEtcd.lives(-1));
        etcd.next("keepAliveOnce").fails(Status.NOT_FOUND);

        assertThat(BackendDriver.answer(renewed)).singleElement().isInstanceOf(RenewResult.Lost.class);
    }

    /** Nothing of it is left, so there is nothing to repeat or keep. */
    @Test
    void abandonedWithoutAnswer_isForgottenWhenItsLeaseEnds() {
        granted(BackendDriver.of(backend, "other", LEASE), 7, 9);
        BackendDriver waiter = driver(backend);
        queued(waiter, 10);
        CompletionStage<Void> abandoned = backend.abandon(waiter.acquisition(), 60_000);
        etcd.next("txn").fails(Status.UNAVAILABLE);
        assertThatThrownBy(() -> BackendDriver.answer(abandoned)).isInstanceOf(LockUnavailableException.class);
        assertThat(EtcdInternals.size(backend)).isEqualTo(4);

        BackendDriver.of(backend, "third", LEASE).send(0);
        etcd.nextPut().fails(Status.NOT_FOUND); // that lease is gone

        assertThat(EtcdInternals.size(backend)).as("the third one's").isEqualTo(2);
    }

    /** Other locks would keep its lease alive, and the key with it; a refusal may be put right, and is repeated. */
    @Test
    void lossWhoseRemovalHasNoAnswer_hasItsLeaseEnd_unlessItWasRefused() {
        // The refusal comes last: its removal would be sent again, and be taken for the next one's.
        for (Status status : List.of(Status.UNAVAILABLE, Status.PERMISSION_DENIED)) {
            long id = status == Status.UNAVAILABLE ? 8 : 7;
            BackendDriver driver = BackendDriver.of(backend, "n" + id, id * 100_000);
            Grant grant = granted(driver, id, 10);
            EtcdAcquisition acquisition = TestAcquisitions.acquisitionOf(grant);
            SharedLease lease = Objects.requireNonNull(acquisition.lease());
            acquisition.update(new KeyState(20, 20, 20, 0, lease)); // it was deleted and created again
            var renewed = backend.renew(List.of(grant), 60_000);
            etcd.next("timeToLive").answers(ScriptedEtcd.lives(30, acquisition.key()));
            etcd.next("keepAliveOnce").answers(ScriptedEtcd.kept(0));
            assertThat(BackendDriver.answer(renewed)).singleElement().isInstanceOf(RenewResult.Lost.class);

            etcd.next("txn").fails(status);

            assertThat(lease.isCondemned()).as("%s", status).isEqualTo(status == Status.UNAVAILABLE);
            assertThat(acquisition.isEnded()).as("%s", status).isEqualTo(status == Status.UNAVAILABLE);
        }
    }
}
