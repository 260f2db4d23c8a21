package dev.holdfast.lock.etcd.internal.acquisition;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.etcd.OneEtcd;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.KeyValue;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What shares and permits cost, whom they call, and what is on the server. */
final class EtcdDemandsTest extends OneEtcd {
    private static final long LEASE = 600_000;

    private static Demand permits(int permits, int limit) {
        return new Demand.Permits(permits, limit);
    }

    private static BackendDriver driver(LockBackend backend, String name, Demand demand) {
        return BackendDriver.of(backend, name, demand, LEASE);
    }

    /** Has a waiter wait, and counts how often it is called. */
    private static AtomicInteger calls(BackendDriver waiter, List<Subscription> subscriptions) {
        waiter.queueUp();
        AtomicInteger calls = new AtomicInteger();
        subscriptions.add(waiter.backend().subscribe(waiter.ticket(), calls::incrementAndGet));
        return calls;
    }

    private static int sum(List<AtomicInteger> calls) {
        return calls.stream().mapToInt(AtomicInteger::get).sum();
    }

    @Test
    void acquireAndRelease_ofAShareOrAPermit_areOneTransactionAndOneDeletion() throws Exception {
        for (Demand demand : List.of(Demand.SHARED, permits(2, 3))) {
            String name = newName();
            try (LockBackend backend = fixture.newBackend()) {
                release(backend, driver(backend, name, demand).acquire());
                long txns = calls("Txn");
                long deletions = calls("DeleteRange");
                long others = fixture.commands();
                for (int i = 0; i < 20; i++) {
                    release(backend, driver(backend, name, demand).acquire());
                }
                assertThat(calls("Txn") - txns).as("%s", demand).isEqualTo(20);
                assertThat(calls("DeleteRange") - deletions).as("%s", demand).isEqualTo(20);
                assertThat(fixture.commands() - others).as("%s", demand).isEqualTo(40);
            }
        }
    }

    /** The first guess is a slot that this client does not use. */
    @Test
    void permits_ofOneClient_areOneTransactionEach() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            driver(backend, newName(), Demand.SHARED).acquire();
            long txns = calls("Txn");
            for (int slot = 1; slot <= 10; slot++) {
                assertThat(driver(backend, name, permits(1, 10)).acquire().slot())
                        .isEqualTo(slot);
            }
            assertThat(calls("Txn") - txns).isEqualTo(10);
        }
    }

    @Test
    void release_ofThreePermits_notifiesOnlyTheThreeWithRoom() throws Exception {
        String name = newName();
        List<Subscription> subscriptions = new ArrayList<>();
        try (LockBackend first = fixture.newBackend();
                LockBackend second = fixture.newBackend()) {
            Grant held = driver(first, name, permits(3, 4)).acquire();
            driver(first, name, permits(1, 4)).acquire();
            List<BackendDriver> waiters = new ArrayList<>();
            List<AtomicInteger> calls = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                BackendDriver waiter = driver(i % 2 == 0 ? first : second, name, permits(1, 4));
                calls.add(calls(waiter, subscriptions));
                waiters.add(waiter);
            }
            await().atMost(PATIENCE).until(() -> watches() == 2);
            long txns = calls("Txn");

            release(first, held);

            await().atMost(PATIENCE).until(() -> sum(calls.subList(0, 3)) == 3);
            List<Integer> slots = new ArrayList<>();
            for (BackendDriver waiter : waiters.subList(0, 3)) {
                slots.add(waiter.acquireQueued().slot());
            }
            assertThat(slots).as("the slots, in any order").containsExactlyInAnyOrder(1, 3, 4);
            assertThat(calls("Txn") - txns).as("one confirmation each").isEqualTo(3);
            assertThat(sum(calls)).as("calls of all").isEqualTo(3);
        } finally {
            subscriptions.forEach(Subscription::close);
        }
    }

    @Test
    void release_ofAWriter_callsTheReadersBehindItAndNotThoseBehindTheNextWriter() throws Exception {
        String name = newName();
        List<Subscription> subscriptions = new ArrayList<>();
        try (LockBackend first = fixture.newBackend();
                LockBackend second = fixture.newBackend()) {
            Grant held = driver(first, name, Demand.EXCLUSIVE).acquire();
            List<BackendDriver> readers = new ArrayList<>();
            List<AtomicInteger> called = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                BackendDriver reader = driver(second, name, Demand.SHARED);
                called.add(calls(reader, subscriptions));
                readers.add(reader);
            }
            List<AtomicInteger> silent = new ArrayList<>();
            silent.add(calls(driver(first, name, Demand.EXCLUSIVE), subscriptions));
            for (int i = 0; i < 10; i++) {
                silent.add(calls(driver(second, name, Demand.SHARED), subscriptions));
            }
            await().atMost(PATIENCE).until(() -> watches() == 21);
            long txns = calls("Txn");

            release(first, held);

            await().atMost(PATIENCE).until(() -> sum(called) == 10);
            for (BackendDriver reader : readers) {
                reader.acquireQueued();
            }
            assertThat(calls("Txn") - txns).as("one confirmation each").isEqualTo(10);
            assertThat(sum(called)).isEqualTo(10);
            assertThat(sum(silent)).isZero();
        } finally {
            subscriptions.forEach(Subscription::close);
        }
    }

    /** A waiter for permits reads the whole line, and still writes nothing. */
    @Test
    void polls_forPermits_writeNothingAndKeepTheWatch() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            Grant held = driver(backend, name, permits(2, 2)).acquire();
            BackendDriver waiter = driver(backend, name, permits(1, 2));
            waiter.queueUp();
            Object ticket = waiter.ticket();
            long entries = fixture.server().sum("etcd_server_proposals_committed_total", "");
            for (int i = 0; i < 10; i++) {
                assertThat(waiter.queueUp().ticket()).isEqualTo(ticket);
            }
            assertThat(fixture.server().sum("etcd_server_proposals_committed_total", "") - entries)
                    .isZero();
            release(backend, held);
            assertThat(waiter.acquireQueued().slot()).as("as it guessed").isEqualTo(2);
        }
    }

    /** A change of leaders has what is held move to another lease: its value must go on to say the slot. */
    @Test
    void move_toAnotherLease_keepsTheSlot() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            driver(backend, name, permits(1, 3)).acquire();
            Grant grant = driver(backend, name, permits(1, 3)).acquire();
            EtcdAcquisition acquisition = Objects.requireNonNull(EtcdAcquisition.of(grant));
            Objects.requireNonNull(acquisition.lease()).condemn();

            assertThat(BackendDriver.renew(backend, grant)).isInstanceOf(RenewResult.Renewed.class);

            assertThat(BackendDriver.holders(backend, name))
                    .extracting(HolderInfo::slot)
                    .containsExactly(1, 2);
            assertThat(driver(backend, name, permits(1, 3)).acquire().slot()).isEqualTo(3);
        }
    }

    /** Of all kinds, in the order of the queue; an unused semaphore is not listed. */
    @Test
    void list_tellsHoldersFromWaiters() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            driver(backend, name, permits(1, 2)).acquire();
            driver(backend, name, permits(1, 2)).acquire();
            driver(backend, name, permits(2, 2)).queueUp();
            driver(backend, name, Demand.SHARED).queueUp();
            String idle = newName();
            release(backend, driver(backend, idle, permits(1, 2)).acquire());

            List<ListedLock> listed =
                    BackendDriver.answer(backend.list("", 100, 10_000)).locks();

            assertThat(listed).extracting(ListedLock::name).contains(name).doesNotContain(idle);
            ListedLock lock = listed.stream()
                    .filter(one -> one.name().equals(name))
                    .findFirst()
                    .orElseThrow();
            assertThat(lock.holders()).extracting(HolderInfo::slot).containsExactly(1, 2);
            assertThat(lock.waiters()).extracting(HolderInfo::demand).containsExactly(permits(2, 2), Demand.SHARED);
            assertThat(lock.waiters())
                    .allSatisfy(waiter -> assertThat(waiter.who()).isEqualTo(BackendDriver.IDENTITY.who()));
        }
    }

    /** What stays of a semaphore is one key, on no lease. */
    @Test
    void limit_isOneKeyThatStays() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            release(backend, driver(backend, name, permits(1, 2)).acquire());
            for (int limit = 2; limit < 6; limit++) {
                assertThat(BackendDriver.changeLimit(backend, name, limit, limit + 1))
                        .isEqualTo(limit + 1);
                // It is in the one key and in the other by turns.
                release(backend, driver(backend, name, permits(1, limit + 1)).acquire());
            }
        }
        List<KeyValue> left = fixture.everything().stream()
                .filter(key -> key.getKey().toString(StandardCharsets.UTF_8).contains("/" + name + "/"))
                .toList();
        assertThat(left).hasSize(1);
        assertThat(left.get(0).getLease()).isZero();
        assertThat(left.get(0).getValue().toString(StandardCharsets.UTF_8)).isEqualTo("6");
        await().atMost(Duration.ofSeconds(20)).until(() -> fixture.entries(name) == 0);
    }
}
