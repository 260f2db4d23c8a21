package dev.holdfast.lock.engine.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.SimWorld;
import dev.holdfast.lock.engine.Simulation;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** A store that renews five leases per millisecond, one request at a time, with thousands of long leases and a short one. */
class RenewalBatchesTest {
    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final List<List<Grant>> requests = new ArrayList<>();
    private long freeAtNanos;

    private final OutageBackend backend = new OutageBackend(false, false, world::now) {
        @Override
        public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
            requests.add(grants);
            freeAtNanos = Math.max(freeAtNanos, world.now()) + grants.size() * 200_000L;
            CompletableFuture<List<RenewResult>> reply = new CompletableFuture<>();
            CompletionStage<List<RenewResult>> results = super.renew(grants, timeoutMillis);
            world.after(machine, freeAtNanos - world.now(), () -> results.thenAccept(reply::complete));
            return reply;
        }
    };
    private final EngineClient client =
            new EngineClient(backend, LockClientOptions.defaults(), machine.runtime()).start();

    private AsyncWaiter acquire(String name, Duration lease) {
        AsyncWaiter waiter = new AsyncWaiter(
                name,
                LockOptions.builder().lease(lease).build(),
                0,
                machine.nanos(),
                machine.runtime().callbacks(),
                Simulation.SimLease::new);
        client.entries().submit(name, waiter);
        return waiter;
    }

    @Test
    void shortLease_besideThousandsOfLongOnes_isKept() {
        List<AsyncWaiter> all = new ArrayList<>();
        for (int i = 0; i < 5_000; i++) {
            all.add(acquire("long" + i, Duration.ofSeconds(15)));
            world.runUntil(world.now() + 10_000);
        }
        all.add(acquire("short", Duration.ofSeconds(1)));
        world.runUntil(world.now() + 60 * Virtual.SECOND);

        assertThat(all)
                .allMatch(waiter -> waiter.hold != null
                        && waiter.hold.state == Hold.State.HELD
                        && waiter.hold.heldGrant.failedRenewals() == 0);
        assertThat(requests).allSatisfy(request -> {
            assertThat(request).hasSizeLessThanOrEqualTo(1_000);
            assertThat(request.stream().map(Grant::leaseMillis).distinct()).hasSize(1);
        });
        assertThat(requests).as("requests in a minute").hasSizeLessThan(400);
    }

    /** The answer for thousands of leases may be late. */
    @Test
    void shortLease_thatIsDueWithALongOne_isRenewedFirst() {
        acquire("long", Duration.ofSeconds(15));
        world.runUntil(world.now() + 4_800_000_000L);
        acquire("short", Duration.ofSeconds(1));
        world.runUntil(world.now() + 202_000_000L);
        assertThat(requests)
                .extracting(request -> request.get(0).acquisition().name())
                .containsExactly("short", "long");
    }
}
