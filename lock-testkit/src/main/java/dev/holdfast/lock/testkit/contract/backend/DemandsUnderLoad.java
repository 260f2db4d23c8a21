package dev.holdfast.lock.testkit.contract.backend;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.ContractGroup;
import dev.holdfast.lock.testkit.support.Waits;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * Threads that acquire one name with demands of all kinds, and a book of who holds what: written when a grant has come, and
 * before its release is asked for, so that whatever stands in it at once was held at once. The store may be unavailable for a while,
 * as a cluster is that elects a leader: who excludes whom is the question here.
 */
final class DemandsUnderLoad {
    private static final int THREADS = 4;
    private static final int GRANTS = 12;

    private final List<LockBackend> backends;
    private final String name;
    private final int limit;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<Long, Grant> held = new HashMap<>();
    private final List<String> violations = new ArrayList<>();
    private final List<String> losses = new ArrayList<>();
    private final List<Long> tokens = new ArrayList<>();

    DemandsUnderLoad(List<LockBackend> backends, String name, int limit) {
        this.backends = backends;
        this.name = name;
        this.limit = limit;
    }

    void run(Function<Random, Demand> demands) throws Exception {
        backends.forEach(backend -> backend.setGrantListener(new Losses()));
        long seed = System.nanoTime();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Callable<Boolean>> tasks = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                LockBackend backend = backends.get(i % backends.size());
                Random random = new Random(seed + i);
                tasks.add(() -> acquire(backend, random, demands));
            }
            for (Future<Boolean> task :
                    threads.invokeAll(tasks, ContractGroup.PATIENCE.toSeconds() * 4, TimeUnit.SECONDS)) {
                task.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private boolean acquire(LockBackend backend, Random random, Function<Random, Demand> demands) {
        for (int i = 0; i < GRANTS; i++) {
            BackendDriver driver = BackendDriver.of(backend, name, demands.apply(random), BackendDriver.LEASE_MILLIS);
            Grant grant = driver.awaitThroughFailures(ContractGroup.PATIENCE.multipliedBy(2));
            note(grant, true);
            Thread.yield();
            note(grant, false);
            Waits.eventually(() -> BackendDriver.release(backend, grant));
        }
        return true;
    }

    /** Nothing here costs a lock, so a loss excuses nothing: it is told with the violation. */
    private final class Losses implements GrantListener {
        @Override
        public void lost(Grant grant, LossReason reason, String detail) {
            mutex.lock();
            try {
                losses.add(grant + " was lost, " + reason + ": " + detail);
            } finally {
                mutex.unlock();
            }
        }

        @Override
        public void suspect(Grant grant, String detail) {}
    }

    private void note(Grant grant, boolean begins) {
        mutex.lock();
        try {
            if (!begins) {
                held.remove(grant.token());
                return;
            }
            tokens.add(grant.token());
            held.put(grant.token(), grant);
            check();
        } finally {
            mutex.unlock();
        }
    }

    private void check() {
        List<Demand> demands = held.values().stream().map(Grant::demand).toList();
        long kinds = demands.stream().map(Demand::kind).distinct().count();
        boolean exclusive = demands.contains(Demand.EXCLUSIVE) && demands.size() > 1;
        int permits = demands.stream()
                .mapToInt(demand -> demand instanceof Demand.Permits some ? some.permits() : 0)
                .sum();
        List<Integer> slots =
                held.values().stream().map(Grant::slot).filter(slot -> slot > 0).toList();
        boolean slotTwice = slots.stream().distinct().count() < slots.size();
        boolean slotTooHigh = !slots.isEmpty() && Collections.max(slots) > limit;
        if (exclusive || kinds > 1 || permits > limit || slotTwice || slotTooHigh) {
            violations.add("held at once: " + held.values() + ", lost before: " + losses);
        }
    }

    List<String> violations() {
        return violations;
    }

    List<Long> tokens() {
        return tokens;
    }
}
