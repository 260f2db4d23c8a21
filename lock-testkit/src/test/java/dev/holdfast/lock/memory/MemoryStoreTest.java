package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.BackendDriver;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
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

    @Test
    void store_countsEachRequest_aBatchOfRenewalsOnce_andSignalsNot() {
        LockBackend backend = store.newBackend();
        BackendDriver holder = BackendDriver.of(backend, "a");
        Grant grant = holder.acquire();
        Grant other = BackendDriver.of(backend, "b").acquire();
        assertThat(store.commands()).isEqualTo(2);
        Map<String, Runnable> requests = new LinkedHashMap<>();
        requests.put("renewal", () -> BackendDriver.renew(backend, List.of(grant, other)));
        requests.put("release", () -> BackendDriver.release(backend, grant));
        requests.put("abandonment", holder::abandon);
        requests.put("holder", () -> BackendDriver.holder(backend, "a"));
        requests.put("holders", () -> BackendDriver.holders(backend, "a"));
        requests.put("limit", () -> backend.changeLimit("c", 1, 2, 1));
        requests.put("list", () -> backend.list("", 1, 1));
        requests.forEach((what, request) -> {
            long before = store.commands();
            request.run();
            assertThat(store.commands() - before).as(what).isEqualTo(1);
        });
        long before = store.commands();
        store.entries("a");
        store.expire("b");
        assertThat(store.commands()).isEqualTo(before);
    }

    @Test
    void request_afterTheClose_isRefused() {
        LockBackend backend = store.newBackend();
        BackendDriver holder = BackendDriver.of(backend, "a");
        Grant grant = holder.acquire();
        backend.close();
        long commands = store.commands();
        List<CompletionStage<?>> requests = List.of(
                holder.send(0),
                backend.abandon(holder.acquisition(), 1),
                backend.renew(List.of(grant), 1),
                backend.release(grant, 1),
                backend.holder("a", 1),
                backend.holders("a", 1),
                backend.changeLimit("a", 1, 2, 1),
                backend.list("", 1, 1));
        assertThat(requests)
                .allSatisfy(request -> assertThat(request.toCompletableFuture())
                        .failsWithin(Duration.ZERO)
                        .withThrowableOfType(ExecutionException.class)
                        .withCauseInstanceOf(LockUnavailableException.class)
                        .withMessageContaining("this connection to the memory store is closed; open another one"));
        assertThat(store.commands()).isEqualTo(commands);
        assertThat(store.entries("a")).isEqualTo(1);
    }

    @Test
    void backend_saysWhatItIs() {
        BackendInfo info = store.newBackend().info();
        assertThat(info.name()).isEqualTo("memory");
        assertThat(List.of(info.fifo(), info.ordered(), info.listing())).containsOnly(true);
        assertThat(List.of(info.blocking(), info.expiring(), info.handsOver())).containsOnly(false);
        assertThat(List.of(info.minLeaseMillis(), info.pollMinMillis(), info.pollMaxMillis()))
                .containsExactly(1L, 1_000L, 1_000L);
        assertThat(info.demands()).containsExactlyInAnyOrder(Demand.Kind.values());
    }

    @Test
    void name_thatIsBad_isRefused_andNothingIsKeptOfIt() {
        BackendDriver bad = BackendDriver.of(store.newBackend(), " ");
        assertThatIllegalArgumentException().isThrownBy(() -> bad.send(0)).withMessageContaining("lock name is blank");
        assertThat(store.entries(" ")).isZero();
    }

    @Test
    void connect_withOptions_hasThem_andTakesTheNameAsItIs() throws Exception {
        LockClientOptions options = LockClientOptions.builder().who("me").build();
        try (LockClient client = LockClient.connect("memory:MemoryStoreTest-3", options);
                LockClient elsewhere = LockClient.connect("memory:memorystoretest-3");
                Lease lease = client.lock("a").acquire();
                Lease other = elsewhere.lock("a").tryAcquire().orElseThrow()) {
            assertThat(client.holder(lease.name()).orElseThrow().who()).isEqualTo("me");
            assertThat(elsewhere.holder(other.name()).orElseThrow().who()).isEmpty();
            assertThat(client.status().store()).isEqualTo("memory");
        }
    }

    @Test
    void connect_malformed_saysWhatIsWrong_andRepeatsNoValue() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockClient.connect("memory:x?tls=CANARY&y"))
                .withMessage(
                        "the address of scheme 'memory' is malformed: parameter 'tls' is unknown; it has no parameters, and"
                                + " a name must not contain a ?");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new MemoryLockProvider().connect("redis://CANARY", LockClientOptions.defaults()))
                .withMessage("not a memory URI; write it as memory:name");
    }
}
