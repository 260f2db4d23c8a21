package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.CountedClient;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.house.BystanderLocks;
import dev.holdfast.lock.testkit.house.HostileLog;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The hostile houses that every store can be put in: what is around a client, and not in its network or servers. */
public abstract class HousesContract extends ClientGroup {
    private static final int BYSTANDERS = 10;
    private static final Duration LEASE = Duration.ofSeconds(10);
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(1);
    private static final int NAMES = 14;
    private static final int PARALLELISM = 3;
    private static final int TASKS = 30;

    /** More than a second of polling and renewing costs any store, and a hundredth of what a loop without a pause does. */
    private static final int MAX_REQUESTS_PER_SECOND = 40;

    private static final InheritableThreadLocal<String> TENANT = new InheritableThreadLocal<>();

    public HousesContract(ContractContext context) {
        super(context);
    }

    private static LockClientOptions options() {
        return LockClientOptions.builder()
                .requestTimeout(REQUEST_TIMEOUT)
                .lockOptions(LockOptions.builder().lease(LEASE).build())
                .build();
    }

    @Test
    @House("process:pools")
    @DisplayName("Callers on a ForkJoinPool of three threads run no other task while they wait, and are all served")
    void callers_onAForkJoinPool_areServed() throws Exception {
        String name = newName();
        AtomicInteger nested = new AtomicInteger();
        Set<Thread> inside = ConcurrentHashMap.newKeySet();
        ForkJoinPool pool = new ForkJoinPool(PARALLELISM);
        try (LockClient client = fixture().newClient(options());
                BystanderLocks bystanders = BystanderLocks.hold(client, BYSTANDERS, LEASE)) {
            List<CompletableFuture<Void>> tasks = new ArrayList<>();
            for (int i = 0; i < TASKS; i++) {
                tasks.add(CompletableFuture.runAsync(
                        () -> {
                            nested.addAndGet(inside.add(Thread.currentThread()) ? 0 : 1);
                            client.lock(name).lock();
                            client.lock(name).unlock();
                            inside.remove(Thread.currentThread());
                        },
                        pool));
            }
            CompletableFuture.allOf(tasks.toArray(CompletableFuture<?>[]::new))
                    .get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            assertThat(nested).as("tasks in the middle of another one").hasValue(0);
            bystanders.assertHeld();
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    @House("process:inheritance")
    @DisplayName("Listeners, stages and losses see no thread-local of the caller that came first")
    void threadsOfTheClient_inheritNoThreadLocal() throws Exception {
        TENANT.set("first caller");
        try (LockClient client = fixture().newClient(options());
                BystanderLocks bystanders = BystanderLocks.hold(client, BYSTANDERS, LEASE)) {
            CompletableFuture<String> listener = new CompletableFuture<>();
            client.addListener(new LockListener() {
                @Override
                public void acquired(String name, long token, Duration waited, boolean handedOff) {
                    listener.complete(String.valueOf(TENANT.get()));
                }
            });
            String name = newName();
            CompletableFuture<String> stage;
            try (Lease before = second().lock(name).acquire()) {
                stage = client.lock(name).acquireAsync(PATIENCE).thenApply(lease -> {
                    lease.close();
                    return String.valueOf(TENANT.get());
                });
                assertThat(before.isValid()).isTrue();
            }
            assertThat(List.of(Actor.result(listener), Actor.result(stage))).containsOnly("null");
            bystanders.assertHeld();
        } finally {
            TENANT.remove();
        }
    }

    @TestIf(Need.PAUSE)
    @House("process:logs")
    @DisplayName("A log that throws at each line costs no lock while the store stands still")
    void logThrows_whileTheStoreStandsStill_locksAreKept() throws Exception {
        try (LockClient client = fixture().newClient(options());
                BystanderLocks bystanders = BystanderLocks.hold(client, BYSTANDERS, LEASE)) {
            try (HostileLog log = HostileLog.throwing()) {
                fixture().pause();
                try {
                    assertThat(locks(client)).isFalse();
                } finally {
                    fixture().resume();
                }
                Waits.until("an answer", () -> locks(client)); // some pools log on the caller's thread
                assertThat(log.lines()).isNotNegative();
            }
            bystanders.assertHeld();
        }
    }

    private static boolean locks(LockClient client) {
        try {
            client.lock(newName()).tryAcquire().orElseThrow().close();
            return true;
        } catch (LockException e) {
            return false;
        }
    }

    @TestIf(Need.LATE)
    @House("middlebox:idle drops")
    @Tag(House.SLOW)
    @DisplayName("Connections that a router drops without notice are replaced before a lease of the usual length ends")
    void connectionsAreDropped_withoutNotice_locksAreKept() throws Exception {
        List<FaultProxy> routers = new ArrayList<>();
        for (FaultProxy proxy : fixture().proxies()) {
            routers.add(closing(proxy.another()));
        }
        LockClientOptions usual = LockClientOptions.defaults();
        Duration lease = usual.lockOptions().lease();
        try (LockClient client = fixture().newClient(fixture().newBackend(routers), usual);
                BystanderLocks bystanders =
                        BystanderLocks.hold(client, fixture().outlivesDroppedConnections() ? BYSTANDERS : 0, lease)) {
            routers.forEach(router -> router.keepBack(Direction.TO_SERVER));
            long startNanos = System.nanoTime();
            String name = newName();
            Waits.eventually(() -> client.lock(name).tryAcquire()).ifPresent(Lease::close);
            System.out.printf(
                    "%s: an answer %d ms after the drop%n",
                    fixture().name(), (System.nanoTime() - startNanos) / 1_000_000);
            pass(lease); // renewals are due meanwhile
            bystanders.assertHeld();
        }
    }

    @TestIf(Need.EXPIRE)
    @House("restores:emptied")
    @DisplayName("Grants that the store loses under their holders go to the waiters, and nobody asks without pause")
    void grantsAreLost_whileHeldAndWaitedFor_waitersAreServed() throws Exception {
        CountedClient holder = client(options());
        CountedClient waiter = client(options());
        try (BystanderLocks bystanders = BystanderLocks.hold(waiter.client(), BYSTANDERS, LEASE)) {
            List<Lease> held = new ArrayList<>();
            List<CompletableFuture<Lease>> waiting = new ArrayList<>();
            for (int i = 0; i < NAMES; i++) {
                String name = newName();
                held.add(holder.client().lock(name).acquire());
                waiting.add(waiter.client().lock(name).acquireAsync(LEASE.plus(PATIENCE)));
                Waits.until("an attempt", () -> waiter.counts().busyAcquisitions(name) > 0);
            }
            for (Lease each : held) {
                fixture().expire(each.name());
            }
            CompletableFuture.allOf(waiting.toArray(CompletableFuture<?>[]::new))
                    .get(LEASE.plus(PATIENCE).toMillis(), TimeUnit.MILLISECONDS);
            for (int i = 0; i < NAMES; i++) {
                assertThat(waiting.get(i).join().token())
                        .isGreaterThan(held.get(i).token());
            }
            assertQuiet("after the loss", holder, waiter);
            waiting.forEach(each -> each.join().close());
            bystanders.assertHeld();
        }
    }

    @Test
    @House("scale:waiters")
    @DisplayName("While nothing changes, a client that holds and waits sends few requests")
    void nothingChanges_fewRequestsAreSent() throws Exception {
        CountedClient holder = client(options());
        CountedClient waiter = client(options());
        String name = newName();
        try (BystanderLocks bystanders = BystanderLocks.hold(holder.client(), BYSTANDERS, LEASE);
                Lease held = holder.client().lock(name).acquire()) {
            List<CompletableFuture<Lease>> waiting = new ArrayList<>();
            for (int i = 0; i < 2 * BYSTANDERS; i++) {
                waiting.add(waiter.client().lock(name).acquireAsync(Duration.ofMinutes(1)));
            }
            Waits.until("an attempt", () -> waiter.counts().busyAcquisitions(name) > 0);
            assertQuiet("of a holder and twenty waiters", holder, waiter);
            waiting.forEach(each -> each.cancel(false));
            assertThat(held.isValid()).isTrue();
            bystanders.assertHeld();
        }
    }

    /** Fails if requests go on without a pause; what has just changed may cost some for a while. */
    private void assertQuiet(String when, CountedClient... clients) throws Exception {
        long least = Long.MAX_VALUE;
        for (int seconds = 0; seconds < 10 && least > MAX_REQUESTS_PER_SECOND; seconds++) {
            long before = requests(clients);
            pass(Duration.ofSeconds(1));
            least = Math.min(least, requests(clients) - before);
        }
        System.out.printf("%s: %d requests in a second %s%n", fixture().name(), least, when);
        assertThat(least).as("requests in a second %s", when).isLessThanOrEqualTo(MAX_REQUESTS_PER_SECOND);
    }

    /** What the store has seen, or else what the clients ask their backends. */
    private long requests(CountedClient... clients) throws Exception {
        long asked = 0;
        for (CountedClient each : clients) {
            asked += each.counts().total();
        }
        return fixture().capabilities().contains(Capability.COUNT)
                ? Math.max(asked, fixture().commands())
                : asked;
    }

    private static void pass(Duration time) {
        long endNanos = System.nanoTime() + time.toNanos();
        while (endNanos - System.nanoTime() > 0) {
            LockSupport.parkNanos(10_000_000);
        }
    }
}
