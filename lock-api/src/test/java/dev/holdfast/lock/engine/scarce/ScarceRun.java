package dev.holdfast.lock.engine.scarce;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.SimWorld;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.client.EngineLease;
import dev.holdfast.lock.engine.internal.client.ThreadWaiter;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Callers of one client contend with each other and with a rival, while some allocations of the client fail; in virtual time.
 * Takes "blocking", "first" and "count", and returns "violation" or null, and "taken".
 */
public final class ScarceRun implements Function<Map<String, Long>, Map<String, Object>> {
    private static final long MILLI = 1_000_000;
    private static final long SECOND = 1_000 * MILLI;
    private static final List<String> NAMES = List.of("n", "m");
    private static final LockOptions OPTIONS =
            LockOptions.builder().lease(Duration.ofSeconds(2)).build();

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final List<Caller> callers = new ArrayList<>();
    private final List<Rival> rivals = new ArrayList<>();
    private final List<String> violations = new ArrayList<>();
    private boolean resting;

    @Override
    public Map<String, Object> apply(Map<String, Long> settings) {
        boolean blocking = settings.get("blocking") != 0;
        ScarceStore store = new ScarceStore(world, blocking);
        EngineClient client = new EngineClient(
                        store,
                        LockClientOptions.builder()
                                .lockOptions(OPTIONS)
                                .requestTimeout(Duration.ofMillis(60))
                                .build(),
                        runtime())
                .start();
        client.addListener(new LockListener() {});
        CompletableFuture<Lease> bystander = client.lock("bystander", OPTIONS).acquireAsync(Duration.ofSeconds(1));
        CompletableFuture<Lease> victim = client.lock("victim", OPTIONS).acquireAsync(Duration.ofSeconds(1));
        for (String name : NAMES) {
            for (int i = 0; i < 2; i++) {
                callers.add(new Caller(client, name));
            }
            rivals.add(new Rival(store, name));
            new AsyncCaller(client.lock(name, OPTIONS)).call();
        }
        callers.forEach(Caller::call);
        rivals.forEach(Rival::call);
        pass(SECOND);
        List<LossReason> losses = new ArrayList<>();
        victim.join().lost().thenAccept(losses::add);
        store.giveBack("victim");
        Scarcity.begin(settings.get("first"), settings.get("count"));
        pass(SECOND);
        long taken = Scarcity.end();
        pass(8 * SECOND);
        callers.forEach(each -> each.before = each.claims);
        rivals.forEach(each -> each.before = each.claims);
        pass(8 * SECOND);
        callers.forEach(each -> check(each.claims > each.before, "a caller of '" + each.name + "' stands still"));
        rivals.forEach(each -> check(each.claims > each.before, "the rival for '" + each.name + "' stands still"));
        check(bystander.join().isValid(), "the bystander is lost");
        check(losses.size() == 1, "the loss of the victim was reported " + losses.size() + " times");
        check(!victim.join().isValid(), "the victim is valid");
        resting = true;
        pass(8 * SECOND);
        bystander.join().close();
        pass(SECOND);
        check(store.holders() == 0, store.holders() + " are held by nobody");
        return violations.isEmpty()
                ? Map.of("taken", taken)
                : Map.of("taken", taken, "violation", String.join("; ", violations));
    }

    private void pass(long nanos) {
        world.runUntil(world.now() + nanos);
    }

    private void check(boolean kept, String otherwise) {
        if (!kept && !violations.contains(otherwise)) {
            violations.add(otherwise);
        }
    }

    /** As a thread of a pool does with an Error of its task. */
    private static void survive(Runnable task) {
        try {
            task.run();
        } catch (OutOfMemoryError e) {
            if (!"on purpose".equals(e.getMessage())) {
                throw e;
            }
        }
    }

    private EngineRuntime runtime() {
        EngineRuntime plain = machine.runtime();
        Executor safe = task -> plain.callbacks().execute(() -> survive(task));
        Executor scarce = task -> {
            Scarcity.take();
            safe.execute(task);
        };
        return new EngineRuntime(
                plain.ticker(),
                plain.random(),
                (delay, task) -> {
                    Scarcity.take();
                    return plain.timer().after(delay, () -> survive(task));
                },
                scarce,
                scarce,
                safe,
                scarce,
                plain.shutdown());
    }

    /** A thread that waits, in virtual time: it does what {@link ThreadWaiter} and its caller do. */
    private static final class PolledWaiter extends Waiter {
        private static final Thread NEVER_STARTED = new Thread(() -> {});

        PolledWaiter(long nowNanos) {
            super(OPTIONS, true, 5 * SECOND, nowNanos);
        }

        @Override
        public Thread thread() {
            return NEVER_STARTED;
        }

        @Override
        public void wakeUp() {}
    }

    /** Acquires, works and releases. */
    private final class Caller {
        final EngineClient client;
        final String name;

        @Nullable Lease lease;

        int claims;
        int before;

        Caller(EngineClient client, String name) {
            this.client = client;
            this.name = name;
        }

        void call() {
            if (resting) {
                return;
            }
            PolledWaiter waiter;
            try {
                waiter = new PolledWaiter(machine.nanos());
            } catch (OutOfMemoryError e) {
                soon(this::call);
                return;
            }
            try {
                LockEntry entry = client.entries().submit(name, waiter);
                look(waiter, entry, world.now() + SECOND);
            } catch (OutOfMemoryError e) {
                waiter.takeBack();
                soon(this::call);
            }
        }

        private void look(Waiter waiter, LockEntry entry, long resumeNanos) {
            long resumeNext = resumeNanos;
            try {
                Runnable attempt = waiter.takeTask();
                if (attempt != null) {
                    waiter.currentAttempt = attempt;
                    try {
                        attempt.run();
                    } catch (OutOfMemoryError e) {
                        entry.cancel(waiter);
                        throw e;
                    } finally {
                        waiter.currentAttempt = null;
                    }
                    if (waiter.stuckInDriver) {
                        entry.requeue(waiter);
                    }
                } else if (waiter.state == Waiter.State.WAITING && waiter.remainingNanos(machine.nanos()) == 0) {
                    entry.timeOut(waiter);
                } else if (world.now() >= resumeNanos) {
                    resumeNext = world.now() + SECOND;
                    entry.resume();
                }
                Hold granted = waiter.hold;
                if (waiter.state == Waiter.State.WAITING) {
                    long next = resumeNext;
                    world.after(null, 5 * MILLI, () -> look(waiter, entry, next));
                } else if (waiter.state == Waiter.State.GRANTED && granted != null) {
                    claim(new EngineLease(client.engine(), client.calls(), granted, true));
                } else {
                    soon(this::call);
                }
            } catch (OutOfMemoryError e) {
                waiter.takeBack();
                soon(this::call);
            }
        }

        private void claim(Lease granted) {
            check(noneValid(name), "two holders of '" + name + "' in one client");
            lease = granted;
            claims++;
            world.after(null, 150 * MILLI, () -> {
                lease = null;
                close(granted);
                soon(this::call);
            });
        }
    }

    /** Its future may never complete without memory for that, but then the lock is not held for it either. */
    private final class AsyncCaller {
        final DistributedLock lock;

        AsyncCaller(DistributedLock lock) {
            this.lock = lock;
        }

        void call() {
            if (resting) {
                return;
            }
            try {
                lock.acquireAsync(Duration.ofSeconds(5)).whenComplete((granted, failure) -> {
                    if (granted != null) {
                        check(noneValid(lock.name()), "two holders of '" + lock.name() + "' in one client");
                        world.after(null, 50 * MILLI, () -> close(granted));
                    }
                });
            } catch (OutOfMemoryError e) {
                // The next call follows anyway.
            }
            world.after(null, 700 * MILLI, this::call);
        }
    }

    private void close(Lease granted) {
        try {
            granted.close();
        } catch (OutOfMemoryError | LockException e) {
            check(!granted.isValid(), "valid although it was closed");
        }
    }

    private void soon(Runnable task) {
        world.after(null, MILLI, task);
    }

    private boolean noneValid(String name) {
        return callers.stream().noneMatch(each -> {
            Lease lease = each.lease;
            return lease != null && each.name.equals(name) && lease.isValid();
        });
    }

    /** Another client of the store. */
    private final class Rival {
        final ScarceStore store;
        final String name;
        int claims;
        int before;

        Rival(ScarceStore store, String name) {
            this.store = store;
            this.name = name;
        }

        void call() {
            if (resting) {
                return;
            }
            store.take(name, this::claim);
        }

        private void claim() {
            claims++;
            check(noneValid(name), "two holders of '" + name + "'");
            world.after(null, 150 * MILLI, () -> {
                store.giveBack(name);
                world.after(null, 300 * MILLI, this::call);
            });
        }
    }
}
