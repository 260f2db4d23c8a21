package dev.holdfast.lock.testkit.contract.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.contract.Actor;
import dev.holdfast.lock.testkit.contract.ClientGroup;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.CountedClient;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.Recorder;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@SuppressWarnings("CheckReturnValue") // calls that are refused have no result
public abstract class ShutdownContract extends ClientGroup {

    public ShutdownContract(ContractContext context) {
        super(context);
    }

    private CountedClient own() {
        return client(ContractContext.clientOptions().build());
    }

    @Test
    @DisplayName("releases every lock that the client holds, of whatever form, and their leases are lost")
    void close_held_isReleased() throws Exception {
        CountedClient own = own();
        List<String> names = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            names.add(newName());
        }
        own.client().lock(names.get(0)).lock();
        Lease lease = own.client().lock(names.get(1), shortLease(Renewal.AUTO)).acquire();
        Lease async = Actor.result(own.client().lock(names.get(2)).acquireAsync(PATIENCE));

        own.close();

        assertThat(lease.isValid()).isFalse();
        assertThat(async.isValid()).isFalse();
        assertThat(awaitLoss(lease)).isEqualTo(LossReason.CLIENT_CLOSED);
        assertThat(awaitLoss(async)).isEqualTo(LossReason.CLIENT_CLOSED);
        for (String name : names) {
            assertBecomesFree(name, Duration.ofSeconds(10));
        }
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("leaves nothing on the server, of holders and of waiters")
    void close_leavesNothing() throws Exception {
        CountedClient own = own();
        String held = newName();
        String awaited = newName();
        own.client().lock(held).lock();
        Lease other = second().lock(awaited).acquire();
        CompletableFuture<Lease> waiting = own.client().lock(awaited).acquireAsync(PATIENCE);
        Waits.until("told that it is busy", () -> own.counts().busyAcquisitions(awaited) > 0);

        own.close();

        assertThat(Actor.failure(waiting)).isInstanceOf(LockClosedException.class);
        assertEntries(held, 0);
        other.close();
        assertEntries(awaited, 0);
    }

    @Test
    @DisplayName("fails every waiter with LockClosedException, whether it waits for another client or thread")
    void close_waiters_fail() throws Exception {
        CountedClient own = own();
        String remote = newName();
        String local = newName();
        List<CompletableFuture<?>> waiting = new ArrayList<>();
        try (Lease held = second().lock(remote).acquire()) {
            own.client().lock(local).lock();
            for (String name : List.of(remote, local)) {
                DistributedLock lock = own.client().lock(name);
                waiting.add(blocked(lock::lock));
                waiting.add(blocked(lock::lockInterruptibly));
                waiting.add(blocked(lock::acquire));
                waiting.add(blocked(() -> lock.tryLock(1, TimeUnit.HOURS)));
                waiting.add(lock.acquireAsync(Duration.ofHours(1)));
            }

            own.close();

            for (CompletableFuture<?> waiter : waiting) {
                assertThat(Actor.failure(waiter)).isInstanceOf(LockClosedException.class);
            }
            assertThat(held.isValid()).isTrue();
        }
        assertBecomesFree(remote, Duration.ofSeconds(10));
        assertBecomesFree(local, Duration.ofSeconds(10));
    }

    private CompletableFuture<Boolean> blocked(Actor.Action action) {
        Actor actor = actor();
        CompletableFuture<Boolean> future = actor.start(action);
        actor.awaitBlocked();
        return future;
    }

    @Test
    @DisplayName("makes every later use throw LockClosedException")
    void close_laterUse_throws() {
        CountedClient own = own();
        String name = newName();
        DistributedLock lock = own.client().lock(name);
        own.close();

        assertThatThrownBy(lock::lock).isInstanceOf(LockClosedException.class);
        assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(LockClosedException.class);
        assertThatThrownBy(lock::tryLock).isInstanceOf(LockClosedException.class);
        assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS)).isInstanceOf(LockClosedException.class);
        assertThatThrownBy(lock::acquire).isInstanceOf(LockClosedException.class);
        assertThatThrownBy(() -> lock.acquire(PATIENCE)).isInstanceOf(LockClosedException.class);
        assertThatThrownBy(lock::tryAcquire).isInstanceOf(LockClosedException.class);
        assertThatThrownBy(() -> lock.tryAcquire(PATIENCE)).isInstanceOf(LockClosedException.class);
        assertThatThrownBy(() -> lock.acquireAsync(PATIENCE)).isInstanceOf(LockClosedException.class);
        assertThatThrownBy(() -> own.client().holder(name)).isInstanceOf(LockClosedException.class);
    }

    @Test
    @DisplayName("may be repeated, and be called by several threads at once")
    void close_repeated_doesNothing() throws Exception {
        CountedClient own = own();
        String name = newName();
        own.client().lock(name).lock();
        List<CompletableFuture<Boolean>> closers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            closers.add(actor().start(own::close));
        }
        for (CompletableFuture<Boolean> closer : closers) {
            Actor.result(closer);
        }

        own.close();

        assertBecomesFree(name, Duration.ofSeconds(10));
    }

    @Test
    @DisplayName("ends the client's threads")
    void close_threads_end() throws Exception {
        first().lock(newName()).acquire().close();
        second().lock(newName()).acquire().close();
        Set<Thread> before = holdfastThreads();
        List<LockClient> clients = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            LockClient client =
                    fixture().newClient(ContractContext.clientOptions().build());
            clients.add(client);
            client.addListener(new Recorder());
            Lease lease = client.lock(newName(), shortLease(Renewal.AUTO)).acquire();
            assertThat(lease.isValid()).isTrue();
        }
        assertThat(holdfastThreads()).as("daemon threads only").allMatch(Thread::isDaemon);

        clients.forEach(LockClient::close);

        await().atMost(Waits.PATIENCE)
                .with()
                .pollInterval(Duration.ofMillis(20))
                .untilAsserted(() -> {
                    if (!left(before).isEmpty()) {
                        System.gc(); // before Java 21 the JDK's HTTP client ends when it is garbage
                    }
                    assertThat(left(before)).isEmpty();
                });
    }

    private static Set<Thread> left(Set<Thread> before) {
        Set<Thread> left = new HashSet<>(holdfastThreads());
        left.removeAll(before);
        return left;
    }

    private static Set<Thread> holdfastThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("holdfast-"))
                .collect(Collectors.toSet());
    }

    @Test
    @DisplayName("returns within the request's time-out, and a little, even if the server is silent")
    void close_silentServer_returns() throws Exception {
        Duration bound = Duration.ofMillis(2_800);
        Duration took = closeWithASilentServer();
        for (int i = 1; i < 4 && took.compareTo(bound) >= 0; i++) { // a machine that pauses makes none shorter
            took = closeWithASilentServer();
        }
        assertThat(took)
                .as("time that close() took with a time-out of one second and three locks held")
                .isLessThan(bound);
    }

    private Duration closeWithASilentServer() {
        FaultyClient own = faultyClient(LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(1))
                .build());
        for (int i = 0; i < 3; i++) {
            own.client().lock(newName(), shortLease(Renewal.AUTO)).lock();
        }
        own.faults().always(Request.RELEASE, Fault.BLACK_HOLE);
        own.faults().always(Request.ABANDON, Fault.BLACK_HOLE);
        own.faults().always(Request.RENEW, Fault.BLACK_HOLE);
        long startNanos = System.nanoTime();

        own.client().close();
        return Duration.ofNanos(System.nanoTime() - startNanos);
    }

    @Test
    @DisplayName("makes unlock throw, and says why")
    void close_unlockLater_throws() {
        CountedClient own = own();
        DistributedLock lock = own.client().lock(newName());
        lock.lock();
        own.close();

        assertThat(lock.held().orElseThrow().isValid()).isFalse();
        assertThat(lock.isHeldByCurrentThread()).as("a hold to unlock").isTrue();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockException.class).hasMessageContaining("closed");
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }
}
