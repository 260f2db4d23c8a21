package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.chaos.history.Part;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.MultiLease;
import dev.holdfast.lock.MultiLock;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Acquires two or three locks at once, in all the ways there are, in any order and some of them named twice. Each lock is an
 * operation of its own. With them goes a lock that no other client uses and that is acquired first: after a failure it must be
 * free.
 */
final class MultiWork implements Work {
    private static final long STEP_MILLIS = 5;

    private final WorkerContext bench;
    private final String own;

    MultiWork(WorkerContext bench) {
        this.bench = bench;
        // '-' is less than '/', so it comes before all others.
        this.own = "chaos-own/" + bench.config().process() + "-" + bench.thread();
    }

    /** One attempt. */
    private record Attempt(Map<Integer, Hold> holds, MultiLock lock, Duration patience) {
        void each(java.util.function.Consumer<Hold> action) {
            holds.values().forEach(action);
        }
    }

    private enum How {
        TRY(OpKind.TRY_LOCK),
        TRY_FOR(OpKind.TIMED),
        FOR(OpKind.TIMED),
        FOREVER(OpKind.LOCK),
        INTERRUPTED(OpKind.TIMED);

        final OpKind kind;

        How(OpKind kind) {
            this.kind = kind;
        }
    }

    @Override
    public void step() throws IOException, InterruptedException {
        How how = how(bench.random().nextInt(100));
        Duration patience = how == How.TRY ? Duration.ZERO : bench.patience();
        Attempt attempt = attempt(how, patience);
        MultiLease lease = null;
        try {
            lease = acquire(attempt, how);
            if (lease == null) {
                attempt.each(hold -> hold.failed(Outcome.BUSY));
            }
        } catch (LockTimeoutException e) {
            attempt.each(hold -> hold.failed(Outcome.BUSY));
        } catch (RuntimeException | ExecutionException e) {
            attempt.each(hold -> hold.failed(Hold.outcome(e)));
            bench.complain(attempt.holds().values().iterator().next(), e);
        }
        if (lease == null) {
            probe(attempt);
        } else {
            pass(attempt, lease);
        }
    }

    private static How how(int percent) {
        if (percent < 20) {
            return How.TRY;
        }
        if (percent < 45) {
            return How.TRY_FOR;
        }
        if (percent < 65) {
            return How.FOR;
        }
        return percent < 85 ? How.FOREVER : How.INTERRUPTED;
    }

    private Attempt attempt(How how, Duration patience) {
        Map<Integer, Hold> holds = new TreeMap<>();
        List<String> names = new ArrayList<>(List.of(own));
        int size = bench.random().nextInt(2, 4);
        while (holds.size() < size) {
            int name = Math.min(
                    bench.random().nextInt(bench.config().names()),
                    bench.random().nextInt(bench.config().names()));
            names.add(bench.random().nextInt(names.size() + 1), ClientConfig.lockName(name));
            holds.computeIfAbsent(name, any -> bench.hold(any, how.kind));
        }
        int group = holds.values().iterator().next().operation;
        int millis = how == How.FOREVER ? -1 : (int) patience.toMillis();
        holds.values().forEach(hold -> hold.part(new Part(group, millis)));
        LockOptions options = LockOptions.builder()
                .lease(Duration.ofMillis(bench.config().leaseMillis()))
                .build();
        return new Attempt(holds, bench.client().lockAll(names, options), patience);
    }

    private @Nullable MultiLease acquire(Attempt attempt, How how) throws InterruptedException, ExecutionException {
        MultiLock lock = attempt.lock();
        return switch (how) {
            case TRY -> lock.tryAcquire().orElse(null);
            case TRY_FOR -> lock.tryAcquire(attempt.patience()).orElse(null);
            case FOR -> lock.acquire(attempt.patience());
            case FOREVER -> lock.acquire();
            case INTERRUPTED -> interrupted(lock, attempt.patience().toMillis());
        };
    }

    /** By another thread, that is interrupted if it has to wait that long. */
    private static @Nullable MultiLease interrupted(MultiLock lock, long millis)
            throws InterruptedException, ExecutionException {
        AtomicReference<@Nullable MultiLease> result = new AtomicReference<>();
        AtomicReference<@Nullable Exception> failure = new AtomicReference<>();
        Thread thread = new Thread(
                () -> {
                    try {
                        result.set(lock.acquire());
                    } catch (InterruptedException | RuntimeException e) {
                        failure.set(e);
                    }
                },
                "chaos-interrupted");
        thread.setDaemon(true);
        thread.start();
        thread.join(Math.max(1, millis));
        thread.interrupt();
        thread.join();
        Exception thrown = failure.get();
        if (thrown != null) {
            throw new ExecutionException(thrown);
        }
        return result.get();
    }

    /**
     * The caller has nothing, so nothing of it may be held. A release that was not answered may take until the lease's end;
     * what is left is renewed, and stays.
     */
    private void probe(Attempt attempt) throws InterruptedException {
        Hold first = attempt.holds().values().iterator().next();
        Duration patience = Duration.ofMillis(2 * bench.config().leaseMillis() + 1_000);
        try {
            Optional<dev.holdfast.lock.Lease> free = bench.client().lock(own).tryAcquire(patience);
            first.probed(free.isPresent());
            free.ifPresent(dev.holdfast.lock.Lease::close);
        } catch (LockException e) {
            // It cannot be reported now.
        }
    }

    private void pass(Attempt attempt, MultiLease lease) throws IOException, InterruptedException {
        long nanos = System.nanoTime();
        attempt.holds().forEach((name, hold) -> hold.acquired(nanos, lease.token(lockName(name)), lease.lost()));
        confirm(attempt, lease);
        Map<Integer, RegisterClient.Seen> seen = new TreeMap<>();
        long millis = bench.holdMillis();
        for (Map.Entry<Integer, Hold> entry : attempt.holds().entrySet()) {
            int name = entry.getKey();
            RegisterClient.Seen before =
                    bench.register().read(name, lease.token(lockName(name)), bench.holder(entry.getValue()));
            seen.put(name, before);
            millis = Math.max(millis, before.stayMillis());
        }
        long start = System.nanoTime();
        while (confirm(attempt, lease) && System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(millis)) {
            Thread.sleep(Math.min(STEP_MILLIS, millis));
        }
        for (Map.Entry<Integer, Hold> entry : attempt.holds().entrySet()) {
            int name = entry.getKey();
            bench.register()
                    .write(
                            name,
                            lease.token(lockName(name)),
                            bench.holder(entry.getValue()),
                            Objects.requireNonNull(seen.get(name)));
        }
        confirm(attempt, lease);
        attempt.each(Hold::release);
        Outcome outcome = Outcome.OK;
        try {
            lease.close();
        } catch (RuntimeException e) {
            outcome = Hold.outcome(e);
        }
        Outcome end = outcome;
        attempt.each(hold -> hold.released(end));
    }

    private static String lockName(int name) {
        return ClientConfig.lockName(name);
    }

    private static boolean confirm(Attempt attempt, MultiLease lease) {
        long nanos = System.nanoTime();
        boolean valid = lease.isValid();
        attempt.each(valid ? hold -> hold.confirmed(nanos) : Hold::invalid);
        return valid;
    }
}
