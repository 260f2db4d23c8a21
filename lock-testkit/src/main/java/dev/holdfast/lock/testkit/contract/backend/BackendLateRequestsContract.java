package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.testkit.support.Waits.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.network.LateBytes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;

/**
 * A request that arrives after its caller has left: its bytes were kept back, its client has lost the connection and
 * gone on over another one. Whoever has the lock at that time has it afterwards, and a free lock does not stay taken.
 */
public abstract class BackendLateRequestsContract extends BackendGroup {
    /** For how long a late request may show its effect. */
    private static final Duration EFFECT = Duration.ofMillis(300);

    private static final long BETWEEN_LOOKS_NANOS = 10_000_000;
    private static final Duration CALL = Duration.ofSeconds(3);

    public BackendLateRequestsContract(ContractContext context) {
        super(context);
    }

    /** What is late. */
    private enum Late {
        ATTEMPT,
        POLL,
        RENEWAL,
        RELEASE,
        ABANDONMENT
    }

    @TestIf(Need.LATE)
    @DisplayName("of an attempt, after the next one was granted: changes nothing")
    void attempt_afterItsGrant() throws Exception {
        goesOn(Late.ATTEMPT);
    }

    @TestIf(Need.LATE)
    @DisplayName(
            "of a waiter's attempt, after the next one was granted, under another leader if there is one: changes nothing")
    void poll_afterItsGrant() throws Exception {
        goesOn(Late.POLL);
    }

    @TestIf(Need.LATE)
    @DisplayName("of a renewal, after the next one: changes nothing")
    void renewal_afterTheNext() throws Exception {
        goesOn(Late.RENEWAL);
    }

    @TestIf(Need.LATE)
    @DisplayName("of a release that was repeated: does not release the same client's next grant")
    void release_afterTheNextGrant() throws Exception {
        goesOn(Late.RELEASE);
    }

    @TestIf(Need.LATE)
    @DisplayName("of an abandonment that was repeated: does not end the same client's next grant")
    void abandonment_afterTheNextGrant() throws Exception {
        goesOn(Late.ABANDONMENT);
    }

    @TestIf(Need.LATE)
    @DisplayName("of an attempt that was abandoned, when nobody has the lock: leaves nothing for longer than its lease")
    void attempt_onFreeLock() throws Exception {
        comesToFreeLock(Late.ATTEMPT);
    }

    @TestIf(Need.LATE)
    @DisplayName(
            "of a waiter's attempt that was abandoned, when nobody has the lock: leaves nothing for longer than its lease")
    void poll_onFreeLock() throws Exception {
        comesToFreeLock(Late.POLL);
    }

    @TestIf(Need.LATE)
    @DisplayName("of a renewal, after the lease has ended: does not bring the grant back")
    void renewal_onFreeLock() throws Exception {
        comesToFreeLock(Late.RENEWAL);
    }

    @TestIf(Need.LATE)
    @DisplayName("of a release, after the lease has ended: changes nothing")
    void release_onFreeLock() throws Exception {
        comesToFreeLock(Late.RELEASE);
    }

    @TestIf(Need.LATE)
    @DisplayName("of an abandonment, after the lease has ended: changes nothing")
    void abandonment_onFreeLock() throws Exception {
        comesToFreeLock(Late.ABANDONMENT);
    }

    @TestIf(Need.LATE)
    @DisplayName("of an attempt that was abandoned, after another client was granted the lock: changes nothing")
    void attempt_onAnothersGrant() throws Exception {
        comesToAnother(Late.ATTEMPT, LateBytes::deliver);
    }

    @TestIf(Need.LATE)
    @DisplayName("of a waiter's attempt that was abandoned, after another client was granted the lock: changes nothing")
    void poll_onAnothersGrant() throws Exception {
        comesToAnother(Late.POLL, LateBytes::deliver);
    }

    @TestIf(Need.LATE)
    @DisplayName("of a renewal, after another client was granted the lock: changes nothing")
    void renewal_onAnothersGrant() throws Exception {
        comesToAnother(Late.RENEWAL, LateBytes::deliver);
    }

    @TestIf(Need.LATE)
    @DisplayName("of a release, after another client was granted the lock: changes nothing")
    void release_onAnothersGrant() throws Exception {
        comesToAnother(Late.RELEASE, LateBytes::deliver);
    }

    @TestIf(Need.LATE)
    @DisplayName("of an abandonment, after another client was granted the lock: changes nothing")
    void abandonment_onAnothersGrant() throws Exception {
        comesToAnother(Late.ABANDONMENT, LateBytes::deliver);
    }

    @TestIf(Need.LATE)
    @DisplayName("of any kind, of which the first half arrives: changes nothing")
    void torn_onAnothersGrant() throws Exception {
        for (Late what : Late.values()) {
            comesToAnother(what, LateBytes::deliverTorn);
        }
    }

    @TestIf(Need.LATE)
    @DisplayName("that was carried out in time, and answered late: changes nothing")
    void lateReply_changesNothing() throws Exception {
        for (Late what : Late.values()) {
            isAnsweredLate(what);
        }
    }

    @TestIf({Need.LATE, Need.SHARED})
    @DisplayName("about a share: changes nothing of what the same client or another one has by then")
    void shares_changeNothing() throws Exception {
        changesNothing(Demand.SHARED);
    }

    @TestIf({Need.LATE, Need.PERMITS})
    @DisplayName("about permits: changes nothing of what the same client or another one has by then")
    void permits_changeNothing() throws Exception {
        changesNothing(new Demand.Permits(2, 2));
    }

    private void changesNothing(Demand demand) throws Exception {
        for (Late what : Late.values()) {
            comesToAnother(what, demand, LateBytes::deliver);
        }
        for (Late what : List.of(Late.ATTEMPT, Late.RELEASE, Late.ABANDONMENT)) {
            goesOn(what, demand);
        }
    }

    private void goesOn(Late what) throws Exception {
        goesOn(what, Demand.EXCLUSIVE);
    }

    /** The same client goes on, and has the lock when the request arrives. */
    private void goesOn(Late what, Demand demand) throws Exception {
        Scene scene = new Scene(what, demand, BackendDriver.LEASE_MILLIS);
        if (!scene.keepBack(Direction.TO_SERVER)) {
            return;
        }
        scene.reconnect();
        scene.awaitAllServers();
        fixture().changeLeader();
        Grant grant = scene.goOn();
        eventually(() -> renewed(scene.own, grant)); // a store may move the grant then
        scene.awaitGrantOnAllServers(grant);
        String before = settledContent(scene.name);

        scene.deliver(LateBytes::deliver);

        scene.assertKeptBy(grant);
        assertThat(fixture().content(scene.name))
                .as("what the store has of '%s' after a late %s", scene.name, what)
                .isEqualTo(before);
        eventually(() -> renewed(scene.own, grant));
        assertThat(eventually(() -> release(scene.own, grant))).isEqualTo(ReleaseResult.RELEASED);
        scene.assertCanBeHad();
    }

    private void comesToFreeLock(Late what) throws Exception {
        Scene scene = new Scene(what, Demand.EXCLUSIVE, shortLeaseMillis() * 2);
        if (!scene.keepBack(Direction.TO_SERVER)) {
            return;
        }
        scene.reconnect();
        scene.keepAnotherAlive();
        scene.end();
        scene.assertCanBeHad();

        scene.deliver(LateBytes::deliver);

        scene.assertCanBeHad();
    }

    private void comesToAnother(Late what, Consumer<LateBytes> delivery) throws Exception {
        comesToAnother(what, Demand.EXCLUSIVE, delivery);
    }

    private void comesToAnother(Late what, Demand demand, Consumer<LateBytes> delivery) throws Exception {
        Scene scene = new Scene(what, demand, BackendDriver.LEASE_MILLIS);
        if (!scene.keepBack(Direction.TO_SERVER)) {
            return;
        }
        scene.reconnect();
        scene.end();
        Grant grant = scene.other.await(PATIENCE);

        scene.deliver(delivery);

        scene.assertKeptBy(grant);
        assertHeld(second(), grant);
        assertThat(release(second(), grant)).as("release by the other client").isEqualTo(ReleaseResult.RELEASED);
    }

    /** The reply is in flight while the client ends the acquisition; then another one is granted. */
    private void isAnsweredLate(Late what) throws Exception {
        Scene scene = new Scene(what, Demand.EXCLUSIVE, BackendDriver.LEASE_MILLIS);
        if (!scene.keepBack(Direction.TO_CLIENT)) {
            return;
        }
        CompletableFuture<?> end =
                async(() -> scene.own.abandon(scene.driver.acquisition(), BackendDriver.TIMEOUT_MILLIS));

        scene.deliver(LateBytes::deliver);

        end.handle((answer, failure) -> true).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        scene.end();
        Grant grant = scene.other.await(PATIENCE);
        scene.assertKeptBy(grant);
        assertHeld(second(), grant);
        assertThat(release(second(), grant)).isEqualTo(ReleaseResult.RELEASED);
    }

    /** What the store has when nothing changes any more: a client may still be removing what an earlier attempt has left. */
    private String settledContent(String name) throws Exception {
        long start = System.nanoTime();
        String last = fixture().content(name);
        int same = 0;
        while (same < 5) {
            assertThat(System.nanoTime() - start)
                    .as("time for '%s' to settle", name)
                    .isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(20_000_000);
            String now = fixture().content(name);
            same = now.equals(last) ? same + 1 : 0;
            last = now;
        }
        return last;
    }

    private static boolean renewed(LockBackend backend, Grant grant) {
        RenewResult result = renew(backend, grant);
        if (result instanceof RenewResult.Unknown unknown) {
            throw new LockUnavailableException("not renewed yet: " + unknown.detail());
        }
        assertThat(result).as("renewal of what is held").isInstanceOf(RenewResult.Renewed.class);
        return true;
    }

    /** A blocking backend blocks a thread of its own. */
    private static CompletableFuture<Object> async(Supplier<? extends CompletionStage<?>> request) {
        CompletableFuture<Object> answer = new CompletableFuture<>();
        Thread thread = new Thread(
                () -> {
                    try {
                        request.get().whenComplete((result, failure) -> {
                            if (failure != null) {
                                answer.completeExceptionally(failure);
                            } else {
                                answer.complete(result);
                            }
                        });
                    } catch (RuntimeException e) {
                        answer.completeExceptionally(e);
                    }
                },
                "contract-late");
        thread.setDaemon(true);
        thread.start();
        return answer;
    }

    /** A client with proxies of its own, at the point at which it makes the request that will be late. */
    private final class Scene {
        final String name = newName();
        final LockBackend own;
        final BackendDriver driver;
        final BackendDriver other = driver(second(), name);
        private final Late what;
        private final Demand demand;
        private final long leaseMillis;
        private final List<FaultProxy> proxies = new ArrayList<>();
        private List<LateBytes> kept = List.of();
        private CompletableFuture<?> sent = new CompletableFuture<>();
        private @Nullable Grant grant;

        Scene(Late what, Demand demand, long leaseMillis) throws Exception {
            this.what = what;
            this.demand = demand;
            this.leaseMillis = leaseMillis;
            for (FaultProxy proxy : fixture().proxies()) {
                proxies.add(closing(proxy.another()));
            }
            own = closing(ContractContext.observed(fixture().newBackend(proxies)));
            driver = BackendDriver.of(own, name, demand, leaseMillis);
            BackendDriver warmUp = BackendDriver.of(own, newName(), leaseMillis);
            Grant warm = eventually(warmUp::acquire);
            eventually(() -> release(own, warm));
            if (what == Late.POLL) {
                becomeNext();
            } else if (what != Late.ATTEMPT) {
                grant = eventually(driver::acquire);
            }
            closing(() -> eventually(() -> {
                driver.abandon();
                return true;
            }));
        }

        /** Waits behind another holder, who then releases. */
        private void becomeNext() throws Exception {
            Grant held = granted(first(), name);
            Ticket ticket = eventually(driver::queueUp).ticket();
            if (ticket == null) {
                release(first(), held);
                return;
            }
            CountDownLatch called = new CountDownLatch(1);
            Subscription subscription = own.subscribe(ticket, called::countDown);
            closing(subscription::close);
            release(first(), held);
            called.await(CALL.toMillis(), TimeUnit.MILLISECONDS); // a store may leave it to polls
        }

        /**
         * Makes the request, or the reply, late. Returns false if there is none: a waiter that was notified of its turn
         * may have no more to ask.
         */
        boolean keepBack(Direction direction) throws Exception {
            eventually(() -> BackendDriver.holder(own, name)); // there is a connection for it
            kept = proxies.stream().map(proxy -> proxy.keepBack(direction)).toList();
            kept.forEach(late -> closing(late::end));
            sent = async(this::request);
            assertThat(awaitSome()).as("bytes of the %s kept back", what).isTrue();
            for (LateBytes late : kept) {
                assertThat(late.awaitQuiet(PATIENCE)).isTrue();
            }
            boolean asked = !sent.isDone();
            assertThat(asked || what == Late.POLL)
                    .as("the %s waits for an answer", what)
                    .isTrue();
            return asked;
        }

        private boolean awaitSome() throws InterruptedException {
            long start = System.nanoTime();
            while (System.nanoTime() - start < PATIENCE.toNanos()) {
                for (LateBytes late : kept) {
                    if (sent.isDone() || late.awaitSome(Duration.ofMillis(10))) {
                        return true;
                    }
                }
            }
            return false;
        }

        private CompletionStage<?> request() {
            return switch (what) {
                case ATTEMPT -> driver.send(0);
                case POLL -> driver.send(BackendDriver.LEASE_MILLIS);
                case RENEWAL -> own.renew(List.of(own()), BackendDriver.TIMEOUT_MILLIS);
                case RELEASE -> own.release(own(), BackendDriver.TIMEOUT_MILLIS);
                case ABANDONMENT -> own.abandon(driver.acquisition(), BackendDriver.TIMEOUT_MILLIS);
            };
        }

        private Grant own() {
            return java.util.Objects.requireNonNull(grant);
        }

        /** The client's connections break; what it sends to cancel its request is lost. It makes new ones. */
        void reconnect() throws Exception {
            kept.forEach(LateBytes::cutOff);
            kept.forEach(LateBytes::dropClients);
            if (own.info().blocking()) { // its thread may be so late that it sends the request only now: before the end
                sent.handle((answer, failure) -> true).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            }
        }

        /** Where several servers decide, a majority is enough for the client, which may be without the others for a while. */
        void awaitAllServers() throws Exception {
            long start = System.nanoTime();
            while (true) {
                BackendDriver another = BackendDriver.of(own, newName(), leaseMillis);
                Grant held = eventually(another::acquire);
                boolean all = fixture().isOnAllServers(held.acquisition().name());
                eventually(() -> release(own, held));
                if (all) {
                    return;
                }
                assertThat(System.nanoTime() - start)
                        .as("time for the client to reach all servers again")
                        .isLessThan(PATIENCE.toNanos());
                LockSupport.parkNanos(BETWEEN_LOOKS_NANOS);
            }
        }

        /** A server that has refused the grant, or has not answered yet, is asked again: else what comes late may be its grant. */
        void awaitGrantOnAllServers(Grant held) throws Exception {
            BackendDriver holder = BackendDriver.of(own, held.acquisition(), leaseMillis);
            long start = System.nanoTime();
            while (!fixture().isOnAllServers(name)) {
                assertThat(System.nanoTime() - start)
                        .as("time for all servers to have the grant")
                        .isLessThan(PATIENCE.toNanos());
                eventually(holder::acquire);
                LockSupport.parkNanos(BETWEEN_LOOKS_NANOS);
            }
        }

        /**
         * The client holds another lock with the same lease, and renews it from now on. What would end with a session that they
         * share does not end then.
         */
        void keepAnotherAlive() {
            BackendDriver another = BackendDriver.of(own, newName(), leaseMillis);
            Grant alive = eventually(another::acquire);
            AtomicBoolean ended = new AtomicBoolean();
            CompletableFuture<Object> renewals = async(() -> {
                while (!ended.get()) {
                    try {
                        renew(own, alive);
                    } catch (LockUnavailableException e) {
                        // the next one may come through
                    }
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(leaseMillis / 8));
                }
                return CompletableFuture.completedFuture(null);
            });
            closing(() -> {
                ended.set(true);
                renewals.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                eventually(() -> release(own, alive)); // a store may have ended it with the lock's lease
            });
        }

        /** The client goes on as if the request had not been carried out. Returns what it holds then. */
        Grant goOn() {
            return switch (what) {
                case ATTEMPT, POLL -> eventually(() -> driver.await(PATIENCE));
                case RENEWAL -> own();
                case RELEASE -> {
                    eventually(() -> release(own, own()));
                    yield next();
                }
                case ABANDONMENT -> {
                    eventually(() -> {
                        driver.abandon();
                        return true;
                    });
                    yield next();
                }
            };
        }

        private Grant next() {
            BackendDriver next = BackendDriver.of(own, name, demand, BackendDriver.LEASE_MILLIS);
            closing(() -> eventually(() -> {
                next.abandon();
                return true;
            }));
            return eventually(() -> next.await(PATIENCE));
        }

        /** The acquisition ends: the caller gives up, and a lease ends on the server. */
        void end() throws Exception {
            if (what == Late.ATTEMPT || what == Late.POLL) {
                eventually(() -> {
                    driver.abandon();
                    return true;
                });
            } else {
                fixture().expire(name);
            }
        }

        void deliver(Consumer<LateBytes> how) throws Exception {
            kept.forEach(how);
            for (LateBytes late : kept) {
                assertThat(late.awaitDelivered(PATIENCE)).as("delivered").isTrue();
            }
        }

        /**
         * For as long as a late request may need to show its effect. A store may count a late attempt of the holder as a
         * further grant to it, with a higher token.
         */
        void assertKeptBy(Grant held) {
            BackendDriver rival = driver(first(), name);
            long start = System.nanoTime();
            do {
                rival.assertBusy();
                LockSupport.parkNanos(BETWEEN_LOOKS_NANOS);
            } while (System.nanoTime() - start < EFFECT.toNanos());
            HolderInfo holder = BackendDriver.holder(first(), name).orElseThrow(() -> new AssertionError("no holder"));
            assertThat(holder.token())
                    .as("token of the holder, after a late %s", what)
                    .isGreaterThanOrEqualTo(held.token());
        }

        /** At the latest when the lease of what came late has ended. */
        void assertCanBeHad() {
            BackendDriver rival = driver(first(), name);
            long start = System.nanoTime();
            do {
                release(first(), rival.await(PATIENCE));
                rival = driver(first(), name);
                LockSupport.parkNanos(BETWEEN_LOOKS_NANOS);
            } while (System.nanoTime() - start < EFFECT.toNanos());
        }
    }
}
