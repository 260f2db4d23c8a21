package dev.holdfast.lock.engine.internal.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.MultiLease;
import dev.holdfast.lock.MultiLock;
import dev.holdfast.lock.engine.ImpoliteBackend;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.SimWorld;
import dev.holdfast.lock.engine.Simulation;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.queue.Virtual;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.engine.internal.runtime.Validity;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How opening and closing a client affects the backend and the threads, and how long its leases are valid. */
@Timeout(30)
class ClientEndTest {
    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final AtomicInteger shutdowns = new AtomicInteger();
    private final Closing backend = new Closing(world::now);
    private final EngineClient client = client();

    ClientEndTest() {
        backend.shutdowns = shutdowns::get;
    }

    private static final class Closing extends OutageBackend {
        @Nullable GrantListener listener;

        int closed;
        boolean failsToClose;
        /** The state when it was closed. */
        final List<String> atClose = new ArrayList<>();

        IntSupplier shutdowns = () -> 0;

        Closing(LongSupplier clock) {
            super(false, false, clock);
        }

        @Override
        public void setGrantListener(GrantListener grantListener) {
            listener = grantListener;
        }

        @Override
        public void close() {
            closed++;
            atClose.add(shutdowns.getAsInt() + (Thread.currentThread().isInterrupted() ? " interrupted" : ""));
            if (failsToClose) {
                throw new IllegalStateException("on purpose");
            }
        }
    }

    private EngineClient client() {
        EngineRuntime plain = machine.runtime();
        return new EngineClient(
                        backend,
                        LockClientOptions.defaults(),
                        new EngineRuntime(
                                plain.ticker(),
                                plain.random(),
                                plain.timer(),
                                plain.io(),
                                plain.renewals(),
                                plain.callbacks(),
                                plain.events(),
                                shutdowns::incrementAndGet))
                .start();
    }

    @Test
    void start_listensToTheBackend() {
        assertThat(backend.listener).isSameAs(client.entries());
    }

    @Test
    void close_closesTheBackendAndEndsTheThreads_once() {
        client.close();
        client.close();
        assertThat(backend.closed).isEqualTo(1);
        assertThat(backend.atClose)
                .as("threads that had ended before the backend")
                .containsExactly("0");
        assertThat(shutdowns).hasValue(1);
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void close_ofABackendThatFails_endsTheThreadsAllTheSame() {
        backend.failsToClose = true;
        client.close();
        assertThat(shutdowns).hasValue(1);
    }

    @Test
    void close_ofAnInterruptedThread_leavesItInterrupted() {
        Thread.currentThread().interrupt();
        client.close();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(backend.closed).isEqualTo(1);
        assertThat(backend.atClose).as("the backend is closed without the flag").containsExactly("0");
    }

    @Test
    void listener_thatWasRemoved_isNotTold() throws InterruptedException {
        List<String> reported = new ArrayList<>();
        LockListener listener = new LockListener() {
            @Override
            public void acquired(String name, long token, Duration waited, boolean handedOff) {
                reported.add(name);
            }
        };
        client.addListener(listener);
        client.lock("a").acquire().close();
        world.runUntil(world.now() + Virtual.SECOND);
        client.removeListener(listener);
        client.lock("b").acquire().close();
        world.runUntil(world.now() + Virtual.SECOND);
        assertThat(reported).containsExactly("a");
    }

    @Test
    void recipes_areOfThisClient() throws InterruptedException {
        List<MultiLock> both =
                List.of(client.lockAll("b", "a"), client.lockAll(List.of("b", "a"), LockOptions.defaults()));
        for (MultiLock each : both) {
            try (MultiLease all = each.acquire()) {
                assertThat(all.names()).containsExactly("a", "b");
                assertThat(client.held()).extracting(LockUsage::name).containsExactlyInAnyOrder("a", "b");
            }
            assertThat(backend.holders).isEmpty();
        }
        assertThat(client.election("e")).isNotNull();
    }

    @Test
    void lease_withinATimeLimit_isGranted_orItsAbsenceIsTold() throws InterruptedException {
        assertThat(client.lock("n")).hasToString("DistributedLock[n on outage]");
        try (Lease lease = client.lock("n").acquire(Duration.ofSeconds(1))) {
            assertThat(lease.isValid()).isTrue();
        }
        assertThat(client.lock("n").tryAcquire().orElseThrow().name()).isEqualTo("n");
        backend.holders.put("other", new AcquisitionId("other", OwnerId.random()));
        assertThat(client.lock("other").tryAcquire()).isEmpty();
        assertThatExceptionOfType(LockException.class)
                .isThrownBy(() -> client.lock("other").acquire(Duration.ZERO))
                .withMessageContaining("'other'");
    }

    /** A lease is valid for its length minus the drift and a margin: 14,550 ms of 15 s. */
    @Test
    void ensure_upToWhatALeaseCanGive() {
        Virtual virtual = new Virtual(LockClientOptions.defaults(), ImpoliteBackend::new);
        ImpoliteBackend store = (ImpoliteBackend) virtual.backend;
        Hold hold = virtual.hold("n", LockOptions.defaults());
        Lease lease = new EngineLease(virtual.client.engine(), virtual.client.calls(), hold, true);
        Duration left = lease.remaining();
        Duration usable = Duration.ofNanos(Validity.usableNanos(15_000));
        assertThat(left).isPositive().isLessThanOrEqualTo(usable);

        lease.ensure(Duration.ZERO);
        lease.ensure(left);
        assertThat(store.renewals).as("it had this much time left").isZero();
        virtual.pass(Virtual.SECOND);
        lease.ensure(usable);
        assertThat(store.renewals).as("it was renewed for it").isEqualTo(1);
        assertThat(lease.remaining()).isEqualTo(usable);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> lease.ensure(usable.plusNanos(1)))
                .withMessageContaining("a lease of 15000 ms can be relied upon for");
        assertThatIllegalArgumentException().isThrownBy(() -> lease.ensure(Duration.ofNanos(-1)));
        assertThat(store.renewals).isEqualTo(1);
    }

    @Test
    void clientThatCannotBeMade_closesItsBackend() {
        LockClientOptions fair = LockClientOptions.builder()
                .lockOptions(LockOptions.builder().fair(true).build())
                .build();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockEngine.client(backend, fair))
                .withMessageContaining("which outage does not provide");
        assertThat(backend.closed).isEqualTo(1);
    }

    @Test
    void grant_ofALeaseOfAnotherKind_isRefused() {
        Hold hold = new Virtual().hold("n", LockOptions.defaults());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockEngine.grant(new Simulation.SimLease(hold)))
                .withMessageContaining("lock 'n': " + Simulation.SimLease.class.getName())
                .withMessageContaining("pass the lease that the lock returned");
    }

    @Test
    void handlesOfOneClientAndName_areEqual() {
        LockOptions other = LockOptions.builder().lease(Duration.ofMinutes(1)).build();
        assertThat(client.lock("n")).isEqualTo(client.lock("n", other)).hasSameHashCodeAs(client.lock("n", other));
        assertThat(client.lock("n"))
                .isNotEqualTo(client.lock("m"))
                .isNotEqualTo(new Virtual().client.lock("n"))
                .isNotEqualTo("n");
    }

    /** A loss by the close is reported when it unlocks. */
    @Test
    void lock_byTheThreadThatHeldItAtTheClose_isToldOfTheClose() {
        DistributedLock lock = client.lock("n");
        lock.lock();
        client.beginClose();
        for (ThrowingCallable again :
                List.<ThrowingCallable>of(lock::lock, lock::tryLock, () -> lock.tryLock(1, TimeUnit.SECONDS))) {
            assertThatThrownBy(again).isInstanceOf(LockClosedException.class).hasMessageContaining("'n'");
        }
        assertThatThrownBy(lock::unlock)
                .isInstanceOfSatisfying(
                        LeaseLostException.class, e -> assertThat(e.reason()).isEqualTo(LossReason.CLIENT_CLOSED));
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void client_ofABackend_locksAndCloses() {
        InlineBackend store = new InlineBackend(false);
        try (LockClient made = LockEngine.client(store, LockClientOptions.defaults())) {
            made.lock("n").lock();
            assertThat(store.isFree()).isFalse();
        }
        assertThat(store.isFree()).isTrue();
    }
}
