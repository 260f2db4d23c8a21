package dev.holdfast.chaos.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The memory store behind TCP, when a connection breaks. */
final class ReconnectTest {
    private static final long MILLIS = 60_000;

    private final MemoryStore store = MemoryStore.create();

    private void serve(ServerSocket listener) {
        Thread thread = new Thread(() -> {
            while (!listener.isClosed()) {
                try {
                    Thread served = new Thread(new MemoryConnection(listener.accept(), store.newBackend()));
                    served.setDaemon(true);
                    served.start();
                } catch (IOException e) {
                    // Closed.
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private static AcquireResult ask(LockBackend backend, OwnerId owner, @Nullable Ticket ticket) throws Exception {
        AcquireRequest request = new AcquireRequest(
                new AcquisitionId("a", owner, Demand.EXCLUSIVE),
                MILLIS,
                MILLIS,
                false,
                ticket,
                MILLIS,
                Identity.ofThisProcess("test"));
        return backend.tryAcquire(request).toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    /** Otherwise it would find out by a poll, seconds later, each time. */
    @Test
    void whoWaits_isWokenOverItsNextConnection() throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            serve(listener);
            try (FaultProxy proxy = FaultProxy.to("127.0.0.1", listener.getLocalPort());
                    LockBackend holder = new RemoteBackend(listener.getLocalPort());
                    LockBackend waiter = new RemoteBackend(proxy.port())) {
                Grant held = ((AcquireResult.Granted) ask(holder, OwnerId.random(), null)).grant();
                OwnerId owner = OwnerId.random();
                Ticket ticket = ((AcquireResult.Busy) ask(waiter, owner, null)).ticket();
                assertThat(ticket).isNotNull();
                AtomicInteger signals = new AtomicInteger();
                waiter.subscribe(ticket, signals::incrementAndGet);

                proxy.resetAll();
                await().untilAsserted(
                                () -> assertThat(signals).as("places are gone").hasPositiveValue());
                int before = signals.get();
                assertThat(ask(waiter, owner, ticket)).isInstanceOf(AcquireResult.Busy.class);
                holder.release(held, MILLIS).toCompletableFuture().get(10, TimeUnit.SECONDS);
                await().untilAsserted(
                                () -> assertThat(signals).as("the lock is free").hasValueGreaterThan(before));
            }
        }
    }
}
