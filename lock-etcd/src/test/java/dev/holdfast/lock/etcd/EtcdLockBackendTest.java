package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.BackendDriver;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What the backend does without a server. */
final class EtcdLockBackendTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    /** A waiter without a lease is called, on the backend's own thread, as soon as it listens. */
    @Test
    void threadOfAClientThatWasNotClosed_keepsNoProcessAlive() throws Exception {
        var acquisition = BackendDriver.newAcquisition("n");
        var slot = new QueueSlots.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        var place = new EtcdAcquisition(acquisition, slot, KEYS.place(acquisition, slot), BackendDriver.IDENTITY);
        CompletableFuture<Thread> calledOn = new CompletableFuture<>();
        try (MadeUpWatch etcd = new MadeUpWatch();
                EtcdLockBackend backend = new EtcdLockBackend(
                        new EtcdConnection(etcd.client(), () -> {}), "b/", EtcdMode.QUEUE, Duration.ofSeconds(1))) {
            backend.subscribe(
                    new BehindOne(place, place.key(), 5, 10), () -> calledOn.complete(Thread.currentThread()));

            Thread thread = calledOn.get(1, TimeUnit.MINUTES);

            assertThat(thread).isNotSameAs(Thread.currentThread());
            assertThat(thread.isDaemon()).isTrue();
        }
    }
}
