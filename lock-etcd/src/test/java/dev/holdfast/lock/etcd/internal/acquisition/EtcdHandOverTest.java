package dev.holdfast.lock.etcd.internal.acquisition;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.WAIT_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.EtcdFixture;
import dev.holdfast.lock.etcd.OneEtcd;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Which waiters are granted the lock by the event of the last deletion ahead, which only make an attempt, and for how
 * long.
 */
final class EtcdHandOverTest extends OneEtcd {
    private static final long LEASE = 30_000;

    /** An acquisition that takes what is handed over, as the engine's do. */
    private static final class Heir implements AutoCloseable {
        final LockBackend backend;
        final AcquisitionId acquisition;
        final Queue<Grant> handed = new ConcurrentLinkedQueue<>();
        final AtomicInteger calls = new AtomicInteger();
        private @Nullable Ticket ticket;
        private Subscription subscription = Subscription.NONE;

        Heir(LockBackend backend, String name) {
            this.backend = backend;
            this.acquisition = BackendDriver.newAcquisition(name);
        }

        AcquireResult ask() {
            AcquireResult result = answer(backend.tryAcquire(new AcquireRequest(
                    acquisition, LEASE, WAIT_MILLIS, true, ticket, 10_000, BackendDriver.IDENTITY, handed::add)));
            if (result instanceof AcquireResult.Busy busy) {
                ticket = busy.ticket();
            }
            return result;
        }

        Heir queueUp() {
            assertThat(ask()).isInstanceOf(AcquireResult.Busy.class);
            return this;
        }

        Heir listen() {
            subscription.close();
            subscription = backend.subscribe(Objects.requireNonNull(ticket), calls::incrementAndGet);
            return this;
        }

        EtcdAcquisition acquisition() {
            return ((EtcdTicket) Objects.requireNonNull(ticket)).acquisition();
        }

        void awaitNews() {
            await().atMost(PATIENCE).until(() -> calls.get() > 0 || !handed.isEmpty());
        }

        Grant awaitHanded() {
            await().atMost(PATIENCE).until(() -> !handed.isEmpty());
            return handed.remove();
        }

        @Override
        public void close() {
            subscription.close();
        }
    }

    private long first(String name) throws Exception {
        return fixture.find(name, 1).get(0).getCreateRevision();
    }

    private void delete(ByteSequence key) throws Exception {
        fixture.admin().getKVClient().delete(key).get(1, TimeUnit.MINUTES);
    }

    /** The lease of what is handed over counts from the last keep-alive, as the waiter's attempt sent none. */
    @Test
    void handedOver_isPromisedNoMoreThanTheLeaseCertainlyHas() throws Exception {
        String name = newName();
        try (LockBackend first = fixture.newBackend();
                LockBackend second = fixture.newBackend();
                Heir heir = new Heir(second, name)) {
            Grant held = acquire(first, name, LEASE);
            heir.queueUp().listen();
            long confirmedNanos = System.nanoTime();
            await().atMost(PATIENCE).until(() -> System.nanoTime() - confirmedNanos > 1_000_000_000L);
            long askedNanos = System.nanoTime();
            heir.queueUp();

            release(first, held);

            Grant grant = heir.awaitHanded();
            assertThat(grant.leaseMillis())
                    .isLessThanOrEqualTo(LEASE - TimeUnit.NANOSECONDS.toMillis(askedNanos - confirmedNanos))
                    .isGreaterThan(LEASE / 2);
            assertThat(grant.token()).isGreaterThan(held.token()).isEqualTo(first(name));
            assertThat(heir.calls).hasValue(0);
            assertThat(renew(second, grant)).isInstanceOf(RenewResult.Renewed.class);
            release(second, grant);
            assertThat(fixture.entries(name)).isZero();
        }
    }

    @Test
    void waiterAheadThatGivesUp_handsNothingOver() throws Exception {
        String name = newName();
        try (LockBackend first = fixture.newBackend();
                LockBackend second = fixture.newBackend();
                LockBackend third = fixture.newBackend();
                Heir between = new Heir(second, name);
                Heir last = new Heir(third, name)) {
            Grant held = acquire(first, name, LEASE);
            between.queueUp().listen();
            last.queueUp().listen();
            await().atMost(PATIENCE).until(() -> watches() == 2);
            answer(second.abandon(between.acquisition, 10_000));
            await().during(Duration.ofMillis(200)).atMost(PATIENCE).until(() -> last.handed.isEmpty());

            release(first, held);

            assertThat(last.awaitHanded().token()).isEqualTo(first(name));
            assertThat(between.handed).isEmpty();
        }
    }

    /** Heard in their order, or read at once because the watch began later. */
    @Test
    void waiterWhoseKeyWasDeleted_isCalledInstead() throws Exception {
        for (boolean listensBefore : List.of(true, false)) {
            String name = newName();
            try (LockBackend first = fixture.newBackend();
                    LockBackend second = fixture.newBackend();
                    Heir heir = new Heir(second, name)) {
                Grant held = acquire(first, name, LEASE);
                heir.queueUp();
                if (listensBefore) {
                    long before = watches();
                    heir.listen();
                    await().atMost(PATIENCE).until(() -> watches() > before);
                }
                delete(heir.acquisition().key());
                release(first, held);
                if (!listensBefore) {
                    heir.listen();
                }

                heir.awaitNews();

                assertThat(heir.handed).isEmpty();
                assertThat(heir.ask()).isInstanceOf(AcquireResult.Granted.class);
            }
        }
    }

    /** A pending attempt finds no key and creates a new one: the earlier hand-over is void. */
    @Test
    void grantOfAKeyThatIsGone_isTakenBackByTheNextAnswer() throws Exception {
        String name = newName();
        Queue<Grant> lost = new ConcurrentLinkedQueue<>();
        try (LockBackend first = fixture.newBackend();
                LockBackend second = fixture.newBackend();
                Heir heir = new Heir(second, name)) {
            second.setGrantListener(noting(lost));
            Grant held = acquire(first, name, LEASE);
            heir.queueUp().listen();
            release(first, held);
            Grant handed = heir.awaitHanded();
            delete(heir.acquisition().key());
            acquire(first, name, LEASE);

            heir.queueUp();

            assertThat(lost).containsExactly(handed);
            assertThat(renew(second, handed)).isInstanceOf(RenewResult.Lost.class);
        }
    }

    /** Its key must move to another lease first, so that its holder can rely on it. */
    @Test
    void waiterOnALeaseThatIsToEnd_isCalledInstead() throws Exception {
        String name = newName();
        try (LockBackend first = fixture.newBackend();
                LockBackend second = fixture.newBackend();
                Heir heir = new Heir(second, name)) {
            Grant held = acquire(first, name, LEASE);
            heir.queueUp().listen();
            Objects.requireNonNull(heir.acquisition().lease()).condemn();

            release(first, held);

            heir.awaitNews();
            assertThat(heir.handed).isEmpty();
            assertThat(heir.ask()).isInstanceOf(AcquireResult.Granted.class);
        }
    }

    /** More keys are ahead than it tracks: it watches its predecessor, and makes an attempt. */
    @Test
    void waiterFarBehind_isCalled() throws Exception {
        String name = newName();
        try (LockBackend first = fixture.newBackend();
                Heir last = new Heir(first, name)) {
            List<BackendDriver> ahead = new ArrayList<>();
            for (int i = 0; i <= QueueHeadTicket.MAX_AHEAD; i++) {
                BackendDriver one = BackendDriver.of(first, name, LEASE);
                one.tryAcquire(WAIT_MILLIS);
                ahead.add(one);
            }
            last.queueUp().listen();
            ahead.forEach(BackendDriver::abandon);

            await().atMost(PATIENCE).until(() -> last.calls.get() > 0);

            assertThat(last.handed).isEmpty();
            assertThat(last.ask()).isInstanceOf(AcquireResult.Granted.class);
        }
    }

    /**
     * Random: waiters come, poll, give up and are handed the lock, while watches break, and keys are deleted behind
     * their clients. A waiter that is handed the lock, and whose key was not deleted, is the first in the store.
     */
    @Test
    void whoeverIsHandedTheLock_isFirstInTheStore() throws Exception {
        String name = newName();
        Random random = new Random(21);
        List<LockBackend> backends = new ArrayList<>();
        List<Heir> heirs = new ArrayList<>();
        int handed = 0;
        try {
            for (int i = 0; i < 4; i++) {
                backends.add(fixture.newBackend());
            }
            for (int step = 0; step < 400; step++) {
                Heir one = heirs.isEmpty() ? null : heirs.get(random.nextInt(heirs.size()));
                int choice = random.nextInt(16);
                if (one == null || choice < 7 && heirs.size() < 4) {
                    Heir next = new Heir(backends.get(random.nextInt(4)), name);
                    heirs.add(next);
                    if (asks(next)) {
                        next.listen();
                    }
                } else if (choice < 9) {
                    asks(one);
                } else if (choice == 9) {
                    List<KeyValue> keys = fixture.find(name, 0);
                    if (!keys.isEmpty()) {
                        delete(keys.get(random.nextInt(keys.size())).getKey());
                    }
                } else if (choice == 10) {
                    fixture.proxies().forEach(proxy -> proxy.resetAll());
                } else {
                    leaves(one);
                    heirs.remove(one);
                }
                handed += check(name, heirs);
            }
            for (Heir one : List.copyOf(heirs)) {
                leaves(one);
            }
            assertThat(handed).as("handed over").isGreaterThan(20);
        } finally {
            heirs.forEach(Heir::close);
            backends.forEach(LockBackend::close);
        }
    }

    /** Whether it waits; a failure is as good as lost. */
    private static boolean asks(Heir one) {
        try {
            return one.ask() instanceof AcquireResult.Busy;
        } catch (LockUnavailableException e) {
            return false;
        }
    }

    private static void leaves(Heir one) {
        one.close();
        EtcdFixture.eventually(() -> {
            answer(one.backend.abandon(one.acquisition, 10_000));
            return true;
        });
    }

    private int check(String name, List<Heir> heirs) throws Exception {
        int found = 0;
        for (Heir one : heirs) {
            for (Grant grant = one.handed.poll(); grant != null; grant = one.handed.poll()) {
                long token = grant.token();
                List<KeyValue> keys = fixture.find(name, 0);
                if (keys.stream().anyMatch(key -> key.getCreateRevision() == token)) {
                    assertThat(keys.get(0).getCreateRevision()).as("the first").isEqualTo(token);
                }
                found++;
            }
        }
        return found;
    }
}
