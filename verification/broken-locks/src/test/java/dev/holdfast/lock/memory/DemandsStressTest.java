package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Permit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Many threads of two clients on one name: readers, writers, those who downgrade, who give up, cancel and come back. Nobody is
 * beside a writer, no thread waits for ever, and nothing is left.
 */
@DisplayName("Readers, writers and permits of many threads")
class DemandsStressTest {
    private static final long SEED = Long.getLong("holdfast.stress.seed", System.nanoTime());
    private static final int THREADS = 8;
    private static final int STEPS = 1_500;
    private static final int LIMIT = 3;

    private final MemoryStore store = MemoryStore.create();
    private final List<LockClient> clients =
            List.of(store.newClient(LockClientOptions.defaults()), store.newClient(LockClientOptions.defaults()));
    private final ConcurrentLinkedQueue<String> violations = new ConcurrentLinkedQueue<>();
    private final AtomicInteger readers = new AtomicInteger();
    private final AtomicInteger writers = new AtomicInteger();
    private final AtomicInteger permits = new AtomicInteger();
    private final AtomicInteger mostReaders = new AtomicInteger();
    private final ReentrantLock[] slots = {new ReentrantLock(), new ReentrantLock(), new ReentrantLock()};

    private void expect(boolean holds, String otherwise) {
        if (!holds) {
            violations.add(otherwise);
        }
    }

    private void reads() {
        mostReaders.accumulateAndGet(readers.incrementAndGet(), Math::max);
        expect(writers.get() == 0, "a reader beside a writer");
        Thread.yield();
        expect(writers.get() == 0, "a writer beside a reader");
        readers.decrementAndGet();
    }

    private void writes() {
        expect(writers.incrementAndGet() == 1, "two writers");
        expect(readers.get() == 0, "a writer beside a reader");
        Thread.yield();
        expect(readers.get() == 0, "a reader beside a writer");
        writers.decrementAndGet();
    }

    private void uses(Permit permit) {
        expect(permits.addAndGet(permit.permits()) <= LIMIT, "more permits than the limit");
        ReentrantLock slot = slots[permit.slot() - 1];
        expect(slot.tryLock(), "a slot twice");
        Thread.yield();
        if (slot.isHeldByCurrentThread()) {
            slot.unlock();
        }
        permits.addAndGet(-permit.permits());
    }

    private void step(DistributedReadWriteLock lock, DistributedReadWriteLock fair, Random random) throws Exception {
        switch (random.nextInt(10)) {
            case 0, 1, 2 -> {
                lock.readLock().lock();
                lock.readLock().lock();
                reads();
                lock.readLock().unlock();
                reads();
                lock.readLock().unlock();
            }
            case 3 -> {
                if (lock.readLock().tryLock()) {
                    reads();
                    lock.readLock().unlock();
                }
            }
            case 4 -> {
                try (Lease lease = fair.readLock().acquire()) {
                    reads();
                }
            }
            case 5 -> {
                CompletableFuture<Lease> future = lock.readLock().acquireAsync(Duration.ofMillis(random.nextInt(3)));
                if (random.nextBoolean()) {
                    future.cancel(false);
                }
                future.whenComplete((lease, failure) -> {
                    if (lease != null) {
                        reads();
                        lease.close();
                    }
                });
            }
            case 6 -> {
                if (lock.writeLock().tryLock(random.nextInt(2_000), TimeUnit.MICROSECONDS)) {
                    writes();
                    lock.writeLock().unlock();
                }
            }
            case 7 -> {
                lock.writeLock().lock();
                writes();
                lock.readLock().lock();
                lock.writeLock().unlock();
                reads();
                lock.readLock().unlock();
            }
            case 8 -> {
                Optional<Lease> lease = lock.writeLock().tryAcquire();
                if (lease.isPresent()) {
                    writes();
                    lease.get().close();
                }
            }
            default -> {
                try (Lease lease = fair.writeLock().acquire()) {
                    writes();
                }
            }
        }
    }

    private void use(DistributedSemaphore semaphore, Random random) throws Exception {
        int count = 1 + random.nextInt(LIMIT);
        switch (random.nextInt(4)) {
            case 0 -> semaphore.tryAcquire(count).ifPresent(this::useAndClose);
            case 1 ->
                semaphore
                        .tryAcquire(count, Duration.ofNanos(random.nextInt(1_000_000)))
                        .ifPresent(this::useAndClose);
            case 2 -> {
                CompletableFuture<Permit> future = semaphore.acquireAsync(count, Duration.ofSeconds(30));
                future.thenAccept(this::useAndClose);
                if (random.nextBoolean()) {
                    future.cancel(false);
                }
            }
            default -> useAndClose(semaphore.acquire(count));
        }
    }

    private void useAndClose(Permit permit) {
        try (permit) {
            uses(permit);
        }
    }

    /** An entry that is looked at retires if its waiter has not come yet. */
    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    @DisplayName("are not lost to somebody who looks at what is held meanwhile")
    void permits_whileSomebodyLooks_areDecided() throws Exception {
        LockClient client = clients.get(0);
        DistributedSemaphore semaphore = client.semaphore("looked-at", 1);
        AtomicBoolean over = new AtomicBoolean();
        CompletableFuture<Void> looks = CompletableFuture.runAsync(
                () -> {
                    while (!over.get()) {
                        client.held();
                    }
                },
                task -> new Thread(task).start());
        try {
            int got = 0;
            for (int i = 0; i < 30_000; i++) {
                Optional<Permit> permit = semaphore.tryAcquire();
                got += permit.isPresent() ? 1 : 0;
                permit.ifPresent(Permit::close);
            }
            assertThat(got).isEqualTo(30_000);
        } finally {
            over.set(true);
        }
        looks.get(60, TimeUnit.SECONDS); // it has looked until now, and has not failed
    }

    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    @DisplayName("keep to the rules, come to an end, and leave nothing")
    void everybody_keepsToTheRules() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        List<Future<?>> runs = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            LockClient client = clients.get(i % 2);
            Random random = new Random(SEED + i);
            LockOptions fair = LockOptions.builder().fair(true).build();
            runs.add(threads.submit(() -> {
                DistributedReadWriteLock lock = client.readWriteLock("rw");
                DistributedReadWriteLock inOrder = client.readWriteLock("rw", fair);
                DistributedSemaphore semaphore = client.semaphore("s", LIMIT);
                for (int step = 0; step < STEPS; step++) {
                    step(lock, inOrder, random);
                    use(semaphore, random);
                }
                return null;
            }));
        }
        try {
            for (Future<?> run : runs) {
                run.get();
            }
        } finally {
            threads.shutdownNow();
        }

        assertThat(violations).as("seed %d", SEED).isEmpty();
        assertThat(mostReaders).as("readers at once").hasValueGreaterThan(1);
        await().atMost(Duration.ofSeconds(30)).until(() -> store.entries("rw") + store.entries("s") == 0);
        await().atMost(Duration.ofSeconds(30))
                .until(() -> clients.stream().allMatch(client -> client.held().isEmpty()));
        clients.forEach(LockClient::close);
    }
}
