package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class MemoryStoreTest {
    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1_000);
    private final MemoryStore store = MemoryStore.create(nanos::get);

    private AcquireResult tryAcquire(LockBackend backend, AcquisitionId acquisition, long waitMillis) {
        return backend.tryAcquire(new AcquireRequest(
                        acquisition, 1_000, waitMillis, false, null, 1_000, new Identity("", "host", 1)))
                .toCompletableFuture()
                .join();
    }

    private static AcquisitionId acquisition() {
        return new AcquisitionId("a", OwnerId.random());
    }

    @Test
    void lease_tickerPassesIt_ends() {
        LockBackend backend = store.newBackend();
        assertThat(tryAcquire(backend, acquisition(), 0)).isInstanceOf(AcquireResult.Granted.class);
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(999));
        assertThat(tryAcquire(backend, acquisition(), 0)).isEqualTo(new AcquireResult.Busy(1, null));

        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));

        assertThat(store.entries("a")).isZero();
        assertThat(tryAcquire(backend, acquisition(), 0)).isInstanceOf(AcquireResult.Granted.class);
    }

    @Test
    void place_waiterFellSilent_lapses() {
        LockBackend backend = store.newBackend();
        assertThat(tryAcquire(backend, acquisition(), 0)).isInstanceOf(AcquireResult.Granted.class);
        assertThat(tryAcquire(backend, acquisition(), 60_000)).isInstanceOf(AcquireResult.Busy.class);
        store.expire("a");
        assertThat(tryAcquire(backend, acquisition(), 0))
                .as("while the waiter may still come")
                .isInstanceOf(AcquireResult.Busy.class);

        nanos.addAndGet(TimeUnit.SECONDS.toNanos(4));

        assertThat(tryAcquire(backend, acquisition(), 0)).isInstanceOf(AcquireResult.Granted.class);
    }

    @Test
    void close_places_areGivenUp() {
        LockBackend holder = store.newBackend();
        LockBackend waiter = store.newBackend();
        AcquisitionId held = acquisition();
        assertThat(tryAcquire(holder, held, 0)).isInstanceOf(AcquireResult.Granted.class);
        assertThat(tryAcquire(waiter, acquisition(), 60_000)).isInstanceOf(AcquireResult.Busy.class);
        assertThat(store.entries("a")).isEqualTo(2);

        waiter.close();

        assertThat(store.entries("a")).isEqualTo(1);
        holder.close();
        assertThat(store.entries("a"))
                .as("grants of a closed backend, until their lease ends")
                .isEqualTo(1);
    }

    @Test
    void connect_sameName_sharesStore() throws Exception {
        try (LockClient one = LockClient.connect("memory:MemoryStoreTest");
                LockClient other = LockClient.connect("MEMORY:MemoryStoreTest", LockClientOptions.defaults());
                LockClient elsewhere = LockClient.connect("memory:MemoryStoreTest-2");
                LockClient unnamed = LockClient.connect("memory:")) {
            try (Lease lease = one.lock("a").acquire()) {
                assertThat(lease.isValid()).isTrue();
                assertThat(other.lock("a").tryLock()).isFalse();
                elsewhere.lock("a").tryAcquire().orElseThrow().close();
                unnamed.lock("a").tryAcquire().orElseThrow().close();
            }
            other.lock("a").tryAcquire().orElseThrow().close();
        }
        assertThat(MemoryStore.named("MemoryStoreTest").entries("a")).isZero();
    }

    @Test
    void client_ofOwnStore_works() throws Exception {
        MemoryStore real = MemoryStore.create();
        try (LockClient client = real.newClient(LockClientOptions.defaults());
                Lease lease = client.lock("a").acquire()) {
            assertThat(lease.token()).isPositive();
            assertThat(real.commands()).isEqualTo(1);
            assertThat(real.entries("a")).isEqualTo(1);
        }
        assertThat(real.entries("a")).isZero();
    }
}
