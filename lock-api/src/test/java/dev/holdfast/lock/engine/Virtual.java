package dev.holdfast.lock.engine;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** A client of an {@link OutageBackend} on a simulated clock. Tasks run immediately or in {@link #pass}. */
final class Virtual {
    static final long SECOND = 1_000_000_000L;

    final SimWorld world = new SimWorld(1);
    final SimWorld.Machine machine = world.new Machine(1);
    final OutageBackend backend;
    final EngineClient client;
    final EngineRuntime runtime = counting(machine.runtime());
    private final Set<Object> openTimers = new HashSet<>();

    /** Together with their leases: the garbage collector would find an unreferenced lease, and it would be ended. */
    private final List<AsyncWaiter> submitted = new ArrayList<>();

    Virtual(LockClientOptions options) {
        this(options, clockNanos -> new OutageBackend(false, false, clockNanos));
    }

    Virtual(LockClientOptions options, Function<LongSupplier, ? extends OutageBackend> backends) {
        backend = backends.apply(world::now);
        client = new EngineClient(backend, options, runtime).start();
    }

    Virtual() {
        this(LockClientOptions.defaults());
    }

    private EngineRuntime counting(EngineRuntime plain) {
        Timer timer = (delay, task) -> {
            Object id = new Object();
            openTimers.add(id);
            Subscription begun = plain.timer().after(delay, () -> {
                openTimers.remove(id);
                task.run();
            });
            return () -> {
                openTimers.remove(id);
                begun.close();
            };
        };
        return new EngineRuntime(
                plain.ticker(),
                plain.random(),
                timer,
                plain.io(),
                plain.renewals(),
                plain.callbacks(),
                plain.events(),
                plain.shutdown());
    }

    /** How many timers have neither run nor been closed. */
    int openTimers() {
        return openTimers.size();
    }

    void pass(long nanos) {
        world.runUntil(world.now() + nanos);
    }

    /** An asynchronous caller, as {@code acquireAsync} makes it. */
    AsyncWaiter submit(String name, LockOptions options, long timeoutNanos) {
        AsyncWaiter waiter = new AsyncWaiter(
                name,
                options,
                timeoutNanos,
                machine.nanos(),
                runtime.callbacks(),
                hold -> new EngineLease(client.engine(), client.calls(), hold, true));
        submitted.add(waiter);
        LockEntry entry = client.entries().submit(name, waiter);
        if (!waiter.triesOnce() && !waiter.waitsForever()) {
            waiter.timeout(runtime.timer().after(timeoutNanos, () -> entry.timeOut(waiter)));
        }
        return waiter;
    }

    /** A hold that was granted to an asynchronous caller. */
    Hold hold(String name, LockOptions options) {
        AsyncWaiter waiter = submit(name, options, 0);
        pass(1_000_000);
        return Objects.requireNonNull(waiter.hold);
    }

    long remainingMillis(Hold hold) {
        return hold.heldGrant.remainingNanos(machine) / 1_000_000;
    }

    void end(Hold hold) {
        hold.lock.end(hold);
    }

    /** The calling thread's hold by {@code lock}. */
    Hold holdHere(String name) {
        LockEntry entry = Objects.requireNonNull(client.entries().find(name));
        return Objects.requireNonNull(entry.holds().heldBy(Thread.currentThread(), false));
    }

    Grant grantHere(String name) {
        return holdHere(name).heldGrant.grant;
    }

    static boolean isUnavailable(CompletableFuture<Lease> future) {
        return future.isCompletedExceptionally()
                && future.handle((lease, error) -> error instanceof LockUnavailableException)
                        .join();
    }
}
