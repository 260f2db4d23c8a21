package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.grpc.Status;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What the backend does without a server. */
final class EtcdLockBackendTest {
    private static final long LEASE = 300_000;
    private static final KeyValue AHEAD = ScriptedEtcd.entry(Places.place().key(), ByteSequence.EMPTY, 5, 5, 99);

    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final AtomicReference<Runnable> afterClose = new AtomicReference<>(() -> {});
    private final EtcdLockBackend backend = backend(EtcdMode.QUEUE);
    private final Queue<String> lost = new ConcurrentLinkedQueue<>();

    private EtcdLockBackend backend(EtcdMode mode) {
        Runnable end = () -> Objects.requireNonNull(afterClose.get()).run();
        return new EtcdLockBackend(new EtcdConnection(etcd.client(), end), "b/", mode, Duration.ofMinutes(1));
    }

    @AfterEach
    void close() {
        etcd.whenSent = revocation -> revocation.answers("revoked");
        backend.close();
        etcd.close();
    }

    private static BackendDriver driver(EtcdLockBackend backend) {
        return BackendDriver.of(backend, Places.NAME, LEASE);
    }

    private void leaseIs(long id) {
        etcd.next("grant").answers(ScriptedEtcd.granted(id, 300, 0));
    }

    /** What the write put, as it is then. */
    private static KeyValue put(ScriptedEtcd.Request write, long revision) {
        var put = write.txn().getSuccess(0).getRequestPut();
        return KeyValue.newBuilder()
                .setKey(put.getKey())
                .setValue(put.getValue())
                .setLease(put.getLease())
                .setCreateRevision(revision)
                .setModRevision(revision)
                .build();
    }

    private void written(long revision, KeyValue... ahead) {
        ScriptedEtcd.Request write = etcd.next("txn");
        KeyValue[] line = new KeyValue[1 + ahead.length];
        line[0] = put(write, revision);
        System.arraycopy(ahead, 0, line, 1, ahead.length);
        write.answers(ScriptedEtcd.txn(true, revision, ScriptedEtcd.read(line)));
    }

    private Grant granted(BackendDriver driver, long lease, long revision) {
        CompletionStage<AcquireResult> result = driver.send(0);
        leaseIs(lease);
        written(revision);
        return driver.granted(BackendDriver.answer(result));
    }

    private EtcdTicket queued(BackendDriver driver, long revision) {
        CompletionStage<AcquireResult> result = driver.send(60_000);
        written(revision, AHEAD);
        AcquireResult.Busy busy = (AcquireResult.Busy) BackendDriver.answer(result);
        return (EtcdTicket) Objects.requireNonNull(busy.ticket());
    }

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
        EtcdAcquisition place = Places.place();
        CompletableFuture<Thread> calledOn = new CompletableFuture<>();
        backend.subscribe(new BehindOne(place, place.key(), 5, 10), () -> calledOn.complete(Thread.currentThread()));

        Thread thread = calledOn.get(1, TimeUnit.MINUTES);

        assertThat(thread).isNotSameAs(Thread.currentThread());
        assertThat(thread.isDaemon()).isTrue();
        assertThat(thread.getName()).isEqualTo("holdfast-etcd");
        assertThat(place.takeCall()).as("its next attempt is a write").isTrue();

        backend.close();
        thread.join(TimeUnit.MINUTES.toMillis(1));
        assertThat(thread.isAlive()).isFalse();
    }

    /** It knows that something has changed, so it needs no look before its write. */
    @Test
    void waiterWhoseTurnItMayBe_isCalled_andWritesNext() {
        EtcdAcquisition place = Places.waitingOn(Places.lease(7), 10);
        AtomicInteger calls = new AtomicInteger();
        Subscription subscription =
                backend.subscribe(new BehindOne(place, Places.place().key(), 5, 10), calls::incrementAndGet);
        assertThat(place.takeCall()).isFalse();

        etcd.listeners.get(0).onNext(MadeUpWatch.deleted(Places.place().key(), 12));

        assertThat(calls).hasValue(1);
        assertThat(place.takeCall()).isTrue();
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
        AcquisitionId somebodys = BackendDriver.newAcquisition(Places.NAME);

        assertThat(BackendDriver.release(backend, new Grant(somebodys, 5, LEASE, 0, "somebody's")))
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

        var holder = backend.holder(Places.NAME, 60_000);
        assertThat(((GetOption) etcd.next("get").arguments().get(1)).getLimit()).isEqualTo(1);
        etcd.next("get").fails(Status.UNAVAILABLE);
        assertThatThrownBy(() -> BackendDriver.answer(holder)).isInstanceOf(LockUnavailableException.class);

        var holders = backend.holders(Places.NAME, 60_000);
        assertThat(((GetOption) etcd.next("get").arguments().get(1)).getLimit()).isEqualTo(5_000);
        etcd.next("get").fails(Status.UNAVAILABLE);
        assertThatThrownBy(() -> BackendDriver.answer(holders)).isInstanceOf(LockUnavailableException.class);

        var listing = backend.list("", 10, 60_000);
        etcd.next("get").fails(Status.UNAVAILABLE);
        assertThatThrownBy(() -> BackendDriver.answer(listing)).isInstanceOf(LockUnavailableException.class);

        var limit = backend.changeLimit(Places.NAME, 3, 4, 20);
        assertThatThrownBy(() -> BackendDriver.answer(limit))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("etcd did not answer in time; see whether the cluster has a leader and can be reached");

        var single = backend(EtcdMode.SINGLE_KEY).changeLimit(Places.NAME, 3, 4, 20);
        assertThatThrownBy(() -> BackendDriver.answer(single))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage("a single key has no permits; use the mode queue");
    }

    /** Its time is nearly the longest of all waits, and nobody would notice before. */
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
    void leaseThatEnds_isALoss_thatIsToldOnce_andNothingIsRemembered() {
        listen();
        Grant grant = granted(driver(backend), 7, 10);
        assertThat(backend.remembered()).isEqualTo(2);
        var renewed = backend.renew(List.of(grant), 60_000);
        etcd.next("timeToLive").answers(ScriptedEtcd.lives(-1));
        etcd.next("keepAliveOnce").fails(Status.NOT_FOUND);

        assertThat(BackendDriver.answer(renewed)).singleElement().isInstanceOf(RenewResult.Lost.class);

        assertThat(lost)
                .containsExactly("10 REVOKED etcd lease 7: etcd does not know the lease any more: expired or revoked");
        assertThat(backend.remembered()).isZero();
        assertThat(etcd.count("txn")).as("nothing is to be removed").isEqualTo(1);
    }

    /** No renewal tells of it. */
    @Test
    void waiterWhoseLeaseEnds_isCalled_whileItListens() {
        Grant held = granted(BackendDriver.of(backend, "other", LEASE), 7, 9);
        BackendDriver waiter = driver(backend);
        EtcdTicket ticket = queued(waiter, 10);
        AtomicInteger calls = new AtomicInteger();
        Subscription subscription = backend.subscribe(ticket, calls::incrementAndGet);
        assertThat(calls).hasValue(0);

        driver(backend).send(0);
        etcd.next("txn").fails(Status.NOT_FOUND);

        assertThat(calls).hasValue(1);
        assertThat(ticket.place().takeCall()).isTrue();
        subscription.close();
        ticket.place().wake();
        assertThat(calls).hasValue(1);
        assertThat(held.token()).isEqualTo(9);
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

        assertThat(lost).containsExactly("10 REVOKED its key was deleted before it was handed the lock");
    }

    @Test
    void nobodyListens_lossesAreNoFault() {
        BackendDriver driver = driver(backend);
        Grant grant = granted(driver, 7, 10);
        var renewed = backend.renew(List.of(grant), 60_000);
        etcd.next("timeToLive").answers(ScriptedEtcd.lives(-1));
        etcd.next("keepAliveOnce").fails(Status.NOT_FOUND);

        assertThat(BackendDriver.answer(renewed)).singleElement().isInstanceOf(RenewResult.Lost.class);
    }

    // ---- closing

    private void awaitRevocation() {
        await().pollInterval(Duration.ofMillis(2))
                .atMost(Duration.ofSeconds(10))
                .until(() -> etcd.count("revoke") > 0);
    }

    /** What its leases hold would stay until they run out, and the connection is what ends them. */
    @Test
    void close_revokesFirst_andEndsTheConnectionThen() throws Exception {
        Grant released = granted(driver(backend), 7, 10);
        CompletionStage<ReleaseResult> release = backend.release(released, 60_000);
        etcd.next("delete").answers(ScriptedEtcd.deleted());
        BackendDriver.answer(release);
        CompletableFuture<Thread> endedOn = new CompletableFuture<>();
        AtomicBoolean finished = new AtomicBoolean();
        afterClose.set(() -> {
            endedOn.complete(Thread.currentThread());
            ScriptedEtcd.spend(30);
            finished.set(true);
        });
        FutureTask<Boolean> closed = new FutureTask<>(() -> {
            backend.close();
            return finished.get();
        });
        Thread caller = new Thread(closed, "closes");
        caller.setDaemon(false); // what it starts would be like it
        caller.start();
        awaitRevocation();
        assertThat(etcd.next("revoke").lease()).isEqualTo(7);
        assertThat(endedOn).isNotDone();

        etcd.next("revoke").answers("revoked");

        Thread closing = endedOn.get(1, TimeUnit.MINUTES);
        assertThat(closing.getName()).isEqualTo("holdfast-etcd-close");
        assertThat(closing.isDaemon()).isTrue();
        assertThat(closed.get(1, TimeUnit.MINUTES)).as("is waited for").isTrue();
    }

    /** It was to linger for its least time; what others wait with is not. */
    @Test
    void close_leavesTheLeasesOfWhatIsHeld() throws Exception {
        granted(driver(backend), 7, 10);
        BackendDriver longer = BackendDriver.of(backend, "other", 2 * LEASE);
        CompletionStage<AcquireResult> waits = longer.send(60_000);
        etcd.next("grant").answers(ScriptedEtcd.granted(8, 600, 0));
        written(11, AHEAD);
        BackendDriver.answer(waits);

        CompletableFuture<Void> closing = CompletableFuture.runAsync(backend::close);
        awaitRevocation();
        etcd.next("revoke").answers("revoked");
        closing.get(1, TimeUnit.MINUTES);

        assertThat(etcd.requests)
                .filteredOn(request -> request.method().equals("revoke"))
                .extracting(ScriptedEtcd.Request::lease)
                .containsExactly(8L);
    }

    @Test
    void close_interrupted_isLeftToItsThread_whichIsToldOfIt() throws Exception {
        CompletableFuture<String> end = new CompletableFuture<>();
        afterClose.set(() -> end.complete("ended"));
        Thread.currentThread().interrupt();

        backend.close();

        assertThat(Thread.interrupted()).as("is left to the caller").isTrue();
        assertThat(end.get(1, TimeUnit.MINUTES)).isEqualTo("ended");
    }

    /** Idle watches of names, too. */
    @Test
    void close_endsTheWatches() throws Exception {
        granted(BackendDriver.of(backend, "other", LEASE), 7, 9);
        EtcdTicket ticket = queued(driver(backend), 10);
        backend.subscribe(ticket, () -> {}).close();
        assertThat(etcd.closedWatches).hasValue(0);

        CompletableFuture<Void> closing = CompletableFuture.runAsync(backend::close);
        closing.get(1, TimeUnit.MINUTES);

        assertThat(etcd.closedWatches).hasValue(1);
    }
}
