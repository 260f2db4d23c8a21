package dev.holdfast.lock.etcd;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.etcd.internal.client.EtcdValue;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Slots of permits while a client pauses before the write of a slot, and their cost. */
final class EtcdSlotsTest extends OneEtcd {
    private static final long LEASE = 120_000;

    private static BackendDriver driver(LockBackend backend, String name, int limit) {
        return BackendDriver.of(backend, name, new Demand.Permits(1, limit), LEASE);
    }

    private static CompletionStage<AcquireResult> ask(BackendDriver driver) {
        return driver.send(BackendDriver.WAIT_MILLIS, PATIENCE.toMillis());
    }

    private LockBackend backend(EtcdWire wire) {
        Client client = EtcdLocks.recommended(Client.builder()
                        .endpoints(fixture.server().endpoints().get(0))
                        .interceptor(wire))
                .build();
        return EtcdLocks.builder(new EtcdConnection(client, client::close))
                .prefix(EtcdFixture.PREFIX)
                .backend();
    }

    private static String text(KeyValue key) {
        return key.getValue().toString(StandardCharsets.UTF_8);
    }

    /** Delays the first write that changes an existing key, and all later requests. */
    private static final class StandsStill implements EtcdWire.Observer {
        private final CountDownLatch reached = new CountDownLatch(1);
        private final CountDownLatch allowed = new CountDownLatch(1);

        void awaitSecondWrite() throws InterruptedException {
            assertThat(reached.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }

        void goOn() {
            allowed.countDown();
        }

        @Override
        public TxnRequest sending(TxnRequest request) {
            return request;
        }

        @Override
        public EtcdWire.Fate sent(TxnRequest request, EtcdWire.Late late) {
            return EtcdWire.Fate.PASSES;
        }

        @Override
        public TxnResponse carryOut(TxnRequest request, EtcdWire.Late late, boolean heard) {
            if (request.getCompareList().stream().anyMatch(condition -> condition.getModRevision() != 0)) {
                reached.countDown();
                try {
                    assertThat(allowed.await(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                            .isTrue();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
            return late.get();
        }
    }

    /**
     * It has read that its first slot is taken, and is about to write another one, while the holder of the first
     * leaves, and a client behind has the other one.
     */
    @Test
    void slot_thatAClientBehindHasTaken_isNotWritten() throws Exception {
        String name = newName();
        StandsStill still = new StandsStill();
        try (EtcdWire wire = new EtcdWire(request -> true, still);
                LockBackend others = fixture.newBackend();
                LockBackend behind = fixture.newBackend();
                LockBackend slowly = backend(wire)) {
            Grant lower = driver(others, name, 3).acquire();
            BackendDriver waiter = driver(slowly, name, 3);
            CompletionStage<AcquireResult> asked = ask(waiter);
            still.awaitSecondWrite();
            release(others, lower);
            Grant higher = driver(behind, name, 3).acquire();
            assertThat(higher.slot()).as("the one that was chosen").isEqualTo(2);
            release(behind, higher);
            still.goOn();

            Grant late = waiter.granted(BackendDriver.answer(asked));

            assertThat(late.token()).isLessThan(higher.token());
            assertThat(late.slot()).as("not a slot that a higher token had").isEqualTo(1);
            release(slowly, late);
        }
    }

    /** Whoever is behind writes its slot, and nothing else of its key. */
    @Test
    void slotOfOneThatStandsStill_isWrittenByTheNext() throws Exception {
        String name = newName();
        StandsStill still = new StandsStill();
        try (EtcdWire wire = new EtcdWire(request -> true, still);
                LockBackend others = fixture.newBackend();
                LockBackend behind = fixture.newBackend();
                LockBackend slowly = backend(wire)) {
            driver(others, name, 3).acquire();
            BackendDriver waiter = driver(slowly, name, 3);
            CompletionStage<AcquireResult> asked = ask(waiter);
            still.awaitSecondWrite();
            KeyValue before = fixture.find(name, 0).get(1);
            assertThat(text(before)).contains(" 1/3/1 ");

            Grant next = driver(behind, name, 3).acquire();

            KeyValue after = fixture.find(name, 0).get(1);
            assertThat(text(after)).isEqualTo(text(before).replace(" 1/3/1 ", " 1/3/2 "));
            assertThat(after.getLease()).isEqualTo(before.getLease());
            assertThat(after.getCreateRevision()).isEqualTo(before.getCreateRevision());
            assertThat(next.slot()).isEqualTo(3);
            assertThat(BackendDriver.holders(behind, name))
                    .extracting(HolderInfo::slot)
                    .containsExactly(1, 2, 3);
            still.goOn();
            Grant late = waiter.granted(BackendDriver.answer(asked));
            assertThat(late.slot()).isEqualTo(2);
            assertThat(BackendDriver.renew(slowly, late)).isInstanceOf(RenewResult.Renewed.class);
        }
    }

    /** The client ahead is gone, with its lease, when its slot is written. */
    @Test
    void slotOfOneWhoseLeaseHasEnded_isNotWritten_andOwnLocksGoOn() throws Exception {
        String name = newName();
        StandsStill dead = new StandsStill();
        StandsStill still = new StandsStill();
        try (EtcdWire deadWire = new EtcdWire(request -> true, dead);
                EtcdWire wire = new EtcdWire(request -> true, still);
                LockBackend others = fixture.newBackend();
                LockBackend dies = backend(deadWire);
                LockBackend helps = backend(wire)) {
            Grant other = BackendDriver.acquire(helps, newName(), LEASE);
            driver(others, name, 3).acquire();
            ask(driver(dies, name, 3));
            dead.awaitSecondWrite();
            BackendDriver next = driver(helps, name, 3);
            CompletionStage<AcquireResult> asked = ask(next);
            still.awaitSecondWrite();
            long lease = fixture.find(name, 0).get(1).getLease();
            fixture.admin().getLeaseClient().revoke(lease).get(1, TimeUnit.MINUTES);
            still.goOn();

            Grant grant = next.granted(BackendDriver.answer(asked));

            assertThat(grant.slot()).isEqualTo(3);
            assertThat(fixture.find(name, 0)).hasSize(2);
            assertThat(BackendDriver.renew(helps, List.of(other, grant)))
                    .allSatisfy(renewed -> assertThat(renewed).isInstanceOf(RenewResult.Renewed.class));
            dead.goOn();
        }
    }

    /** The client ahead has taken its slot itself, and a client behind has chosen another one for it. */
    @Test
    void slotOfOneThatWentOn_isNotWrittenOver() throws Exception {
        String name = newName();
        StandsStill first = new StandsStill();
        StandsStill second = new StandsStill();
        try (EtcdWire firstWire = new EtcdWire(request -> true, first);
                EtcdWire secondWire = new EtcdWire(request -> true, second);
                LockBackend others = fixture.newBackend();
                LockBackend ahead = backend(firstWire);
                LockBackend behind = backend(secondWire)) {
            Grant lowest = driver(others, name, 3).acquire();
            BackendDriver waiter = driver(ahead, name, 3);
            CompletionStage<AcquireResult> asked = ask(waiter);
            first.awaitSecondWrite();
            BackendDriver next = driver(behind, name, 3);
            CompletionStage<AcquireResult> askedBehind = ask(next);
            second.awaitSecondWrite();
            release(others, lowest);
            first.goOn();
            Grant grant = waiter.granted(BackendDriver.answer(asked));
            assertThat(grant.slot()).as("its first slot, which is free now").isEqualTo(1);
            KeyValue before = fixture.find(name, 0).get(0);
            second.goOn();

            Grant grantBehind = next.granted(BackendDriver.answer(askedBehind));

            assertThat(grantBehind.slot()).isBetween(2, 3);
            assertThat(fixture.find(name, 0).get(0).getModRevision()).isEqualTo(before.getModRevision());
        }
    }

    /** It does not wait, and has found no room, when a client behind, which has room since, writes its slot. */
    @Test
    void busyAttempt_whoseSlotIsWrittenWhileItLeaves_leaves() throws Exception {
        String name = newName();
        StandsStill still = new StandsStill();
        try (EtcdWire wire = new EtcdWire(request -> true, still);
                LockBackend others = fixture.newBackend();
                LockBackend behind = fixture.newBackend();
                LockBackend slowly = backend(wire)) {
            driver(others, name, 2).acquire();
            Grant second = driver(others, name, 2).acquire();
            CompletionStage<AcquireResult> asked = driver(slowly, name, 2).send(0, PATIENCE.toMillis());
            still.awaitSecondWrite();
            BackendDriver next = driver(behind, name, 2);
            next.queueUp();
            release(others, second);
            next.queueUp();
            long modified = fixture.find(name, 0).get(1).getModRevision();
            KeyValue leaving = fixture.find(name, 0).get(1);
            fixture.admin()
                    .getKVClient()
                    .put(
                            leaving.getKey(),
                            EtcdValue.withSlot(leaving.getValue(), 2),
                            io.etcd.jetcd.options.PutOption.builder()
                                    .withLeaseId(leaving.getLease())
                                    .build())
                    .get(1, TimeUnit.MINUTES);
            assertThat(fixture.find(name, 0).get(1).getModRevision()).isGreaterThan(modified);
            still.goOn();

            assertThat(BackendDriver.answer(asked)).isInstanceOf(AcquireResult.Busy.class);
            assertThat(fixture.find(name, 0)).hasSize(2);
            assertThat(next.await(PATIENCE).slot()).isEqualTo(2);
        }
    }

    /** One who waits has guessed a slot that a holder has: it is corrected by the transaction that confirms its turn. */
    @Test
    void waiter_isOneTransaction_andAnotherOnceItIsCalled() throws Exception {
        String name = newName();
        try (LockBackend first = fixture.newBackend();
                LockBackend second = fixture.newBackend()) {
            Grant lower = driver(first, name, 2).acquire();
            long txns = fixture.server().calls("Txn");
            driver(second, name, 2).acquire();
            assertThat(fixture.server().calls("Txn") - txns).as("a wrong guess").isEqualTo(2);
            BackendDriver waiter = driver(second, name, 2);
            waiter.queueUp();
            assertThat(fixture.server().calls("Txn") - txns).as("and a waiter").isEqualTo(3);
            AtomicInteger calls = new AtomicInteger();
            try (Subscription subscription = second.subscribe(waiter.ticket(), calls::incrementAndGet)) {
                await().atMost(PATIENCE).until(() -> watches() > 0);
                release(first, lower);
                await().atMost(PATIENCE).until(() -> calls.get() == 1);

                assertThat(waiter.acquireQueued().slot()).isEqualTo(1);
            }
            assertThat(fixture.server().calls("Txn") - txns).as("and its turn").isEqualTo(4);
        }
    }
}
