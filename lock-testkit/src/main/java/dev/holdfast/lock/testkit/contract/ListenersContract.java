package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.CountedClient;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.support.Recorder;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class ListenersContract extends ClientGroup {

    public ListenersContract(ContractContext context) {
        super(context);
    }

    private Recorder listening() {
        Recorder recorder = new Recorder();
        first().addListener(recorder);
        closing(() -> first().removeListener(recorder));
        return recorder;
    }

    @Test
    @DisplayName("hears attempt, grant and release in their order, with the token, on a thread of the client")
    void events_ofOneHold_inOrder() throws Exception {
        String name = newName();
        Recorder recorder = listening();
        long token;
        try (Lease lease = first().lock(name).acquire()) {
            token = lease.token();
        }

        Waits.untilMore(() -> recorder.count("released", name), 0);

        assertThat(recorder.kinds(name)).containsExactly("attempted", "acquired", "released");
        assertThat(recorder.of(name).stream().skip(1)).allMatch(event -> event.token() == token);
        assertThat(recorder.of(name)).allMatch(event -> event.thread() != Thread.currentThread());
        assertThat(recorder.of(name).stream().map(Recorder.Event::thread).distinct())
                .hasSize(1);
    }

    @Test
    @DisplayName("hears nothing of a re-entry")
    void events_ofReentry_none() throws Exception {
        String name = newName();
        Recorder recorder = listening();
        DistributedLock lock = first().lock(name);
        lock.lock();
        lock.lock();
        lock.unlock();
        lock.unlock();

        Waits.untilMore(() -> recorder.count("released", name), 0);

        assertThat(recorder.kinds(name)).containsExactly("attempted", "acquired", "released");
    }

    @Test
    @DisplayName("hears whether a lock was handed on within the client, and of an attempt in vain")
    void events_ofHandOff_areTold() throws Exception {
        String name = newName();
        Recorder recorder = listening();
        DistributedLock lock = first().lock(name);
        lock.lock();
        assertThat(actor().call(() -> lock.tryLock())).isFalse();
        lock.unlock();

        Waits.untilMore(() -> recorder.count("released", name), 0);

        assertThat(recorder.count("attempted", name)).as("attempts").isEqualTo(2);
        assertThat(recorder.count("acquired", name)).as("grants").isEqualTo(1);
    }

    @Test
    @DisplayName("hears how each attempt ended that did not get the lock, so that the events add up")
    void events_ofAttemptsInVain_addUp() throws Exception {
        String name = newName();
        FaultyClient own = faultyClient(ContractContext.clientOptions().build());
        Recorder recorder = new Recorder();
        own.client().addListener(recorder);
        DistributedLock lock = own.client().lock(name);
        Lease held = second().lock(name).acquire();

        assertThat(lock.tryLock()).isFalse();
        assertThat(lock.tryAcquire(Duration.ofSeconds(1))).isEmpty();
        Actor waiter = actor();
        CompletableFuture<Lease> interrupted = waiter.start(() -> lock.acquire());
        waiter.awaitBlocked();
        waiter.interrupt();
        assertThat(Actor.failure(interrupted)).isInstanceOf(InterruptedException.class);
        lock.acquireAsync(PATIENCE).cancel(false);
        held.close();
        lock.acquire().close();
        own.faults().always(Request.ATTEMPT, Fault.REFUSED);
        assertThatThrownBy(lock::tryLock).isInstanceOf(LockUnavailableException.class);
        own.faults().calm();
        held = second().lock(name).acquire();
        CompletableFuture<Lease> closed = lock.acquireAsync(PATIENCE);
        own.client().close();
        assertThat(Actor.failure(closed)).isInstanceOf(LockClosedException.class);
        assertThatThrownBy(lock::tryLock).as("a closed client").isInstanceOf(LockClosedException.class);
        held.close();

        Waits.untilMore(() -> recorder.count("gaveUp", name), 5);
        assertThat(recorder.of(name).stream()
                        .filter(event -> event.kind().equals("gaveUp"))
                        .map(Recorder.Event::detail))
                .containsExactly("BUSY", "TIMEOUT", "INTERRUPTED", "CANCELLED", "UNAVAILABLE", "CLOSED");
        assertThat(recorder.count("attempted", name))
                .as("attempted = acquired + gave up")
                .isEqualTo(recorder.count("acquired", name) + recorder.count("gaveUp", name));
    }

    @Test
    @DisplayName("is told what this client holds and waits for, without asking the server")
    void held_listsHoldersAndWaiters() throws Exception {
        String locked = newName();
        String leased = newName();
        String awaited = newName();
        CountedClient own = client(LockClientOptions.defaults());
        assertThat(own.client().held()).isEmpty();
        Lease elsewhere = second().lock(awaited).acquire();
        Actor thread = actor();
        thread.run(own.client().lock(locked)::lock);
        Lease lease = own.client().lock(leased).acquire();
        Actor waiter = actor();
        CompletableFuture<Lease> waiting =
                waiter.start(() -> own.client().lock(awaited).acquire());
        waiter.awaitBlocked();
        CompletableFuture<Lease> later = own.client().lock(leased).acquireAsync(PATIENCE);
        Waits.until("told busy", () -> own.counts().busyAcquisitions(awaited) > 0);
        long holders = own.counts().count(Request.HOLDER);

        Map<String, LockUsage> used =
                own.client().held().stream().collect(Collectors.toMap(LockUsage::name, Function.identity()));

        assertThat(own.counts().count(Request.HOLDER)).as("requests").isEqualTo(holders);
        assertThat(used).containsOnlyKeys(locked, leased, awaited);
        LockUsage.Holder byThread =
                Objects.requireNonNull(used.get(locked)).holder().orElseThrow();
        assertThat(byThread.lease()).isFalse();
        assertThat(byThread.thread()).contains(thread.thread().getName());
        assertThat(byThread.token()).isPositive();
        assertThat(byThread.remaining()).isPositive();
        assertThat(byThread.since()).isBetween(Instant.now().minusSeconds(60), Instant.now());
        LockUsage ofLease = Objects.requireNonNull(used.get(leased));
        assertThat(ofLease.holder().orElseThrow().lease()).isTrue();
        assertThat(ofLease.holder().orElseThrow().token()).isEqualTo(lease.token());
        assertThat(ofLease.waiters()).singleElement().satisfies(async -> {
            assertThat(async.async()).isTrue();
            assertThat(async.lease()).isTrue();
            assertThat(async.thread()).isEqualTo(Thread.currentThread().getName());
        });
        LockUsage waitedFor = Objects.requireNonNull(used.get(awaited));
        assertThat(waitedFor.holder()).isEmpty();
        assertThat(waitedFor.waiters()).singleElement().satisfies(blocked -> {
            assertThat(blocked.async()).isFalse();
            assertThat(blocked.thread()).isEqualTo(waiter.thread().getName());
        });

        lease.close();
        Actor.result(later).close();
        elsewhere.close();
        Actor.result(waiting).close();
        thread.run(own.client().lock(locked)::unlock);
        assertThat(own.client().held()).isEmpty();
    }

    @Test
    @DisplayName("that fails disturbs neither the lock nor the other listeners")
    void listener_fails_isIsolated() throws Exception {
        String name = newName();
        LockListener failing = new LockListener() {
            @Override
            public void attempted(String lock) {
                throw new IllegalStateException("a listener that fails on purpose");
            }

            @Override
            public void acquired(String lock, long token, Duration waited, boolean handedOff) {
                throw new AssertionError("a listener that fails badly on purpose");
            }
        };
        first().addListener(failing);
        closing(() -> first().removeListener(failing));
        Recorder recorder = listening();

        first().lock(name).acquire().close();

        Waits.untilMore(() -> recorder.count("released", name), 0);
        assertThat(recorder.kinds(name)).containsExactly("attempted", "acquired", "released");
    }

    @Test
    @DisplayName("hears nothing after it was removed")
    void listener_removed_hearsNothing() throws Exception {
        String name = newName();
        Recorder removed = new Recorder();
        first().addListener(removed);
        first().removeListener(removed);
        first().removeListener(removed);
        Recorder recorder = listening();

        first().lock(name).acquire().close();

        Waits.untilMore(() -> recorder.count("released", name), 0);
        assertThat(removed.of(name)).isEmpty();
    }

    @Test
    @DisplayName("hears how long a waiter waited")
    void events_wait_isMeasured() throws Exception {
        String name = newName();
        Recorder recorder = listening();
        Lease held = second().lock(name).acquire();
        Actor waiter = actor();
        CompletableFuture<Lease> waiting = waiter.start(() -> first().lock(name).acquire());
        waiter.awaitBlocked();
        held.close();
        Actor.result(waiting).close();

        Waits.untilMore(() -> recorder.count("released", name), 0);

        assertThat(recorder.kinds(name)).containsExactly("attempted", "acquired", "released");
        assertThat(recorder.of(name).get(1).detail())
                .startsWith("granted after PT")
                .isNotEqualTo("granted after PT0S");
    }

    @Test
    @DisplayName("is told who holds a lock: the client's name, the process, the token and since when")
    void holder_held_isTold() throws Exception {
        String name = newName();
        CountedClient own =
                client(LockClientOptions.builder().who("billing job, node 7").build());
        assertThat(first().holder(name)).isEmpty();
        try (Lease lease = own.client().lock(name).acquire()) {
            HolderInfo holder = first().holder(name).orElseThrow();

            assertThat(holder.who()).isEqualTo("billing job, node 7");
            assertThat(holder.pid()).isEqualTo(ProcessHandle.current().pid());
            assertThat(holder.host()).isNotBlank();
            assertHolderToken("told by another client", Optional.of(holder), lease.token());
            assertThat(holder.since())
                    .isBetween(
                            Instant.now().minus(Duration.ofHours(1)),
                            Instant.now().plus(Duration.ofHours(1)));
            assertThat(own.client().holder(name)).contains(holder);
        }
        assertThat(first().holder(name)).isEmpty();
    }
}
