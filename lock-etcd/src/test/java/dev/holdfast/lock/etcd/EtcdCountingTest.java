package dev.holdfast.lock.etcd;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What things cost, counted by the server. */
final class EtcdCountingTest extends OneEtcd {

    /** etcd reads a queue past all keys that were ever deleted from it, until it is compacted. */
    @Test
    void acquisitions_oneAfterTheOther_useTheSameKey() throws Exception {
        String name = newName();
        Set<String> keys = new HashSet<>();
        List<Long> tokens = new ArrayList<>();
        try (LockBackend backend = fixture.newBackend()) {
            for (int i = 0; i < 20; i++) {
                Grant grant = acquire(backend, name, 120_000);
                tokens.add(grant.token());
                keys.add(fixture.find(name, 1).get(0).getKey().toString());
                release(backend, grant);
            }
            assertThat(keys).hasSize(1);
            assertThat(tokens).isSorted().doesNotHaveDuplicates();

            Grant held = acquire(backend, name, 120_000);
            BackendDriver.of(backend, name, 120_000).queueUp();
            assertThat(fixture.entries(name))
                    .as("two at a time have a key each")
                    .isEqualTo(2);
            release(backend, held);
        }
    }

    @Test
    void lockAndUnlock_uncontended_areOneTransactionAndOneDeletion() throws Exception {
        try (LockClient client = SignalOnly.connect(fixture.uri())) {
            DistributedLock lock = client.lock(newName());
            lock.lock();
            lock.unlock();
            long txns = calls("Txn");
            long deletions = calls("DeleteRange");
            long reads = calls("Range");
            long leases = calls("LeaseGrant");
            long streams = calls("Watch");
            for (int i = 0; i < 50; i++) {
                lock.lock();
                lock.unlock();
            }
            assertThat(calls("Txn") - txns).isEqualTo(50);
            assertThat(calls("DeleteRange") - deletions).isEqualTo(50);
            assertThat(calls("Range") - reads).isZero();
            assertThat(calls("LeaseGrant") - leases).isZero();
            assertThat(calls("Watch") - streams).isZero();
        }
    }

    @Test
    void tryLock_busy_isTwoTransactionsAtMostAndLeavesNoKey() throws Exception {
        String name = newName();
        try (LockClient holder = SignalOnly.connect(fixture.uri());
                LockClient other = SignalOnly.connect(fixture.uri())) {
            holder.lock(name).lock();
            assertThat(other.lock(name).tryLock()).isFalse();
            long txns = calls("Txn");
            for (int i = 0; i < 10; i++) {
                assertThat(other.lock(name).tryLock()).isFalse();
            }
            assertThat(calls("Txn") - txns).isLessThanOrEqualTo(20);
            assertThat(fixture.entries(name)).isEqualTo(1);
            holder.lock(name).unlock();
        }
    }

    /** For the second and the third in the queue, which watch all deletions ahead: the event is the grant. */
    @Test
    void handOver_betweenClients_isOneReleaseAndNoRequestOfTheWaiter() throws Exception {
        String name = newName();
        try (LockClient first = SignalOnly.connect(fixture.uri());
                LockClient second = SignalOnly.connect(fixture.uri());
                LockClient third = SignalOnly.connect(fixture.uri())) {
            Lease held = first.lock(name).acquire();
            CompletableFuture<Lease> next = second.lock(name).acquireAsync(PATIENCE);
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 2 && watches() == 1);
            CompletableFuture<Lease> last = third.lock(name).acquireAsync(PATIENCE);
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 3 && watches() == 2);
            long deletions = calls("DeleteRange");
            long others = requests();

            held.close();
            Lease got = next.get(3, TimeUnit.MINUTES);
            got.close();
            Lease gotLast = last.get(3, TimeUnit.MINUTES);

            assertThat(requests() - others).as("requests but the releases").isZero();
            assertThat(calls("DeleteRange") - deletions).isEqualTo(2);
            assertThat(got.token()).isGreaterThan(held.token());
            assertThat(gotLast.token()).isGreaterThan(got.token());
            gotLast.close();
        }
    }

    private long requests() throws IOException {
        return calls("Txn") + calls("Range") + calls("Put") + calls("Watch");
    }

    /** A client that soon waits again finds its watch, which has delivered all events in the meantime. */
    @Test
    void turns_ofTwoClients_areOneCreationAndOneDeletionEach() throws Exception {
        String name = newName();
        try (LockClient first = SignalOnly.connect(fixture.uri());
                LockClient second = SignalOnly.connect(fixture.uri())) {
            takeTurns(first, second, name, 3);
            long txns = calls("Txn");
            long reads = calls("Range");
            long streams = calls("Watch");

            int looks = takeTurns(first, second, name, 10);

            assertThat(calls("Txn") - txns).isEqualTo(20);
            assertThat(calls("Watch") - streams)
                    .as("watches: none, or some where the machine stalled for a second")
                    .isLessThanOrEqualTo(3);
            assertThat(calls("Range") - reads - looks).as("reads").isLessThanOrEqualTo(3);
        }
    }

    /** Returns how often the test itself has read. */
    private int takeTurns(LockClient first, LockClient second, String name, int times) throws Exception {
        AtomicInteger looks = new AtomicInteger();
        for (int i = 0; i < times; i++) {
            Lease held = first.lock(name).acquire();
            CompletableFuture<Lease> next = second.lock(name).acquireAsync(PATIENCE);
            await().pollInterval(Duration.ofMillis(5)).atMost(PATIENCE).until(() -> {
                looks.incrementAndGet();
                return fixture.entries(name) == 2;
            });
            held.close();
            next.get(3, TimeUnit.MINUTES).close();
        }
        return looks.get();
    }

    @Test
    void polls_whileNothingChanges_writeNothingAndKeepTheWatch() throws Exception {
        String name = newName();
        try (LockBackend first = fixture.newBackend();
                LockBackend second = fixture.newBackend()) {
            Grant held = acquire(first, name, 120_000);
            BackendDriver waiter = BackendDriver.of(second, name, 120_000);
            waiter.queueUp();
            Ticket ticket = waiter.ticket();
            AtomicInteger calls = new AtomicInteger();
            Subscription subscription = second.subscribe(ticket, calls::incrementAndGet);
            await().atMost(PATIENCE).until(() -> watches() == 1);
            long entries = fixture.server().sum("etcd_server_proposals_committed_total", "");
            long txns = calls("Txn");
            long streams = calls("Watch");

            for (int i = 0; i < 20; i++) {
                AcquireResult.Busy busy = waiter.queueUp();
                assertThat(busy.ticket())
                        .as("equal, so that the engine keeps its watch")
                        .isEqualTo(ticket);
            }

            assertThat(fixture.server().sum("etcd_server_proposals_committed_total", "") - entries)
                    .as("entries of the Raft log")
                    .isZero();
            assertThat(calls("Txn") - txns).as("one read each").isEqualTo(20);
            assertThat(calls("Watch") - streams).isZero();
            assertThat(calls).hasValue(0);
            release(first, held);
            await().atMost(PATIENCE).until(() -> calls.get() > 0);
            assertThat(waiter.tryAcquire(BackendDriver.WAIT_MILLIS)).isInstanceOf(AcquireResult.Granted.class);
            subscription.close();
        }
    }

    /** The engine's own polls, of which there are two or more in that time. */
    @Test
    void wait_ofTwelveSeconds_isOneWriteAndOneWatch() throws Exception {
        String name = newName();
        try (LockClient first = LockClient.connect(fixture.uri());
                LockClient second = LockClient.connect(fixture.uri())) {
            Lease held = first.lock(name).acquire();
            CompletableFuture<Lease> next = second.lock(name).acquireAsync(PATIENCE);
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 2 && watches() == 1);
            long entries = fixture.server().sum("etcd_server_proposals_committed_total", "");
            long reads = calls("Txn");
            long streams = calls("Watch");
            long startNanos = System.nanoTime();
            await().atMost(PATIENCE).until(() -> System.nanoTime() - startNanos > 12_000_000_000L);

            assertThat(calls("Txn") - reads).as("polls").isPositive();
            assertThat(fixture.server().sum("etcd_server_proposals_committed_total", "") - entries)
                    .isZero();
            assertThat(calls("Watch") - streams).isZero();
            held.close();
            next.get(3, TimeUnit.MINUTES).close();
        }
    }

    @Test
    void wait_ofAThousandThreads_isOneKeyOneWatchOneLease() throws Exception {
        String name = newName();
        int threads = 1_000;
        try (LockClient first = SignalOnly.connect(fixture.uri());
                LockClient second = SignalOnly.connect(fixture.uri())) {
            Lease held = first.lock(name).acquire();
            long leases = calls("LeaseGrant");
            CountDownLatch done = new CountDownLatch(threads);
            AtomicInteger running = new AtomicInteger();
            for (int i = 0; i < threads; i++) {
                Thread thread = new Thread(
                        () -> {
                            running.incrementAndGet();
                            second.lock(name).lock();
                            second.lock(name).unlock();
                            done.countDown();
                        },
                        "waiter-" + i);
                thread.setDaemon(true);
                thread.start();
            }
            await().atMost(PATIENCE)
                    .until(() -> running.get() == threads && fixture.entries(name) == 2 && watches() == 1);
            assertThat(calls("LeaseGrant") - leases).isEqualTo(1);
            assertThat(fixture.entries(name)).isEqualTo(2);
            assertThat(watches()).isLessThanOrEqualTo(1);

            held.close();

            assertThat(done.await(5, TimeUnit.MINUTES)).isTrue();
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 0 && watches() == 0);
        }
    }

    @Test
    void renewal_ofManyLocks_costsAsMuchAsOfOne() throws Exception {
        LockOptions options = LockOptions.builder().lease(Duration.ofSeconds(6)).build();
        try (LockClient client = fixture.newClient(
                LockClientOptions.builder().lockOptions(options).build())) {
            List<Lease> held = new ArrayList<>();
            long leases = calls("LeaseGrant");
            for (int i = 0; i < 200; i++) {
                held.add(client.lock(newName()).acquire());
            }
            assertThat(calls("LeaseGrant") - leases)
                    .as("leases of one length: one, or a second where the machine stalled for seconds")
                    .isBetween(1L, 2L);
            long before = calls("LeaseKeepAlive");
            long questions = calls("LeaseTimeToLive");
            long others = calls("Txn") + calls("Range") + calls("LeaseGrant");
            await().atMost(PATIENCE).until(() -> calls("LeaseKeepAlive") >= before + 5);

            assertThat(calls("LeaseTimeToLive") - questions)
                    .as("far fewer than locks")
                    .isLessThanOrEqualTo(20);
            assertThat(calls("Txn") + calls("Range") + calls("LeaseGrant") - others)
                    .isZero();
            assertThat(held).allMatch(Lease::isValid);
        }
    }

    @Test
    void release_with200Waiters_wakesOne() throws Exception {
        String name = newName();
        List<LockBackend> backends = new ArrayList<>();
        List<AutoCloseable> subscriptions = new ArrayList<>();
        AtomicInteger woken = new AtomicInteger();
        AtomicInteger firstWoken = new AtomicInteger();
        try {
            for (int i = 0; i < 8; i++) {
                backends.add(fixture.newBackend());
            }
            Grant held = acquire(backends.get(0), name, 30_000);
            for (int i = 0; i < 200; i++) {
                LockBackend backend = backends.get(i % 8);
                BackendDriver waiter = BackendDriver.of(backend, name, 30_000);
                waiter.queueUp();
                Ticket ticket = waiter.ticket();
                AtomicInteger mine = i == 0 ? firstWoken : new AtomicInteger();
                subscriptions.add(backend.subscribe(ticket, () -> {
                    woken.incrementAndGet();
                    mine.incrementAndGet();
                }));
            }
            await().atMost(PATIENCE).until(() -> watches() == 200);
            assertThat(woken).hasValue(0);

            release(backends.get(0), held);

            await().atMost(PATIENCE).until(() -> firstWoken.get() == 1);
            assertThat(woken).hasValue(1);
        } finally {
            for (AutoCloseable subscription : subscriptions) {
                subscription.close();
            }
            backends.forEach(LockBackend::close);
        }
        await().atMost(PATIENCE).until(() -> fixture.entries(name) == 0 && watches() == 0);
    }

    @Test
    void client_thatHoldsNothing_sendsNothing() throws Exception {
        LockOptions options = LockOptions.builder().lease(Duration.ofSeconds(2)).build();
        try (LockClient client = fixture.newClient(
                LockClientOptions.builder().lockOptions(options).build())) {
            DistributedLock lock = client.lock(newName());
            lock.lock();
            lock.unlock();
            long before = fixture.commands();
            long startNanos = System.nanoTime();
            await().atMost(PATIENCE).until(() -> System.nanoTime() - startNanos > 3_000_000_000L);

            assertThat(fixture.commands() - before).isZero();
        }
    }
}
