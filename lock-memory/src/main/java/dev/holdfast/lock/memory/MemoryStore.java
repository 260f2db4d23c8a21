package dev.holdfast.lock.memory;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The server side of the in-memory backend: the state that all clients of one store share. Thread-safe.
 *
 * <p>One mutex guards everything, so that each request is atomic, like a request to a single server. Signals are collected under
 * the mutex and {@linkplain Signals delivered} after it is released. A name without holders or waiters takes no memory, except
 * for a semaphore's limit: the tokens of all names come from one counter.
 */
public final class MemoryStore {
    private static final Map<String, MemoryStore> NAMED = new ConcurrentHashMap<>();

    private final LongSupplier ticker;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<String, MemoryQueue> queues = new HashMap<>();
    private final Tombstones abandoned = new Tombstones();
    private final Signals signals = new Signals();
    private final AtomicLong commands = new AtomicLong();
    private long lastToken;

    private MemoryStore(LongSupplier ticker) {
        this.ticker = ticker;
    }

    /**
     * Creates a separate store.
     *
     * @return an empty store on the JVM's monotonic clock
     */
    public static MemoryStore create() {
        return new MemoryStore(System::nanoTime);
    }

    /**
     * Creates a separate store whose leases run on the given clock. The clock of a client is not affected.
     *
     * @param nanoTicker a monotonic clock in nanoseconds, with any origin; thread-safe
     * @return an empty store
     */
    public static MemoryStore create(LongSupplier nanoTicker) {
        return new MemoryStore(nanoTicker);
    }

    /**
     * Returns the store behind {@code memory:name}, which lives as long as the JVM.
     *
     * @param name any text
     * @return the store; the same for the same name
     */
    public static MemoryStore named(String name) {
        return NAMED.computeIfAbsent(name, any -> create());
    }

    /**
     * Creates a backend of this store, like that of another process.
     *
     * @return an open backend, closed by the caller
     */
    public LockBackend newBackend() {
        return new MemoryLockBackend(this);
    }

    /**
     * Creates a client of this store.
     *
     * @param options the client's options
     * @return an open client, closed by the caller
     */
    public LockClient newClient(LockClientOptions options) {
        return LockEngine.client(newBackend(), options);
    }

    /**
     * Ends all holds of a lock, as the expiry of their leases would. Does nothing if the lock is free.
     *
     * @param name the lock's name
     */
    public void expire(String name) {
        guarded(name, queue -> {
            queue.end();
            return true;
        });
    }

    /**
     * Counts the holders and the waiters of a name.
     *
     * @param name the lock's name
     * @return their number, 0 if the name is unused
     */
    public long entries(String name) {
        return guarded(name, queue -> queue.entries());
    }

    /**
     * Returns the number of requests so far from all backends, without signals.
     *
     * @return the number of requests
     */
    public long commands() {
        return commands.get();
    }

    AcquireResult tryAcquire(AcquireRequest request, MemoryLockBackend backend) {
        commands.incrementAndGet();
        AcquisitionId acquisition = request.acquisition();
        LockName.requireValid(acquisition.name());
        return guarded(acquisition.name(), queue -> {
            if (abandoned.has(acquisition.owner(), ticker.getAsLong())) {
                return new AcquireResult.Busy(-1, null);
            }
            return queue.tryAcquire(request, backend, ticker.getAsLong(), () -> ++lastToken);
        });
    }

    boolean abandon(AcquisitionId acquisition) {
        commands.incrementAndGet();
        return guarded(acquisition.name(), queue -> {
            abandoned.add(acquisition.owner(), ticker.getAsLong());
            return queue.remove(acquisition.owner());
        });
    }

    void countRenewal() {
        commands.incrementAndGet();
    }

    RenewResult renew(Grant grant) {
        return guarded(grant.acquisition().name(), queue -> queue.renew(grant, ticker.getAsLong()));
    }

    ReleaseResult release(Grant grant) {
        commands.incrementAndGet();
        return guarded(grant.acquisition().name(), queue -> queue.release(grant));
    }

    Optional<HolderInfo> holder(String name) {
        commands.incrementAndGet();
        return guarded(name, queue -> queue.holder());
    }

    List<HolderInfo> holders(String name) {
        commands.incrementAndGet();
        return guarded(name, MemoryQueue::holders);
    }

    int changeLimit(String name, int from, int to) {
        commands.incrementAndGet();
        return guarded(name, queue -> queue.changeLimit(from, to));
    }

    LockListing list(String prefix, int limit) {
        commands.incrementAndGet();
        List<String> names = Stream.of(namesInUse())
                .filter(name -> name.startsWith(prefix))
                .sorted()
                .toList();
        List<ListedLock> locks = new ArrayList<>();
        for (String name : names) {
            ListedLock lock = guarded(name, MemoryQueue::listed);
            if (!lock.holders().isEmpty() || !lock.waiters().isEmpty()) {
                if (locks.size() == limit) {
                    return new LockListing(locks, true);
                }
                locks.add(lock);
            }
        }
        return new LockListing(locks, false);
    }

    void subscribe(String name, OwnerId owner, @Nullable Runnable onMaybeFree) {
        guarded(name, queue -> {
            if (!queue.subscribe(owner, onMaybeFree) && onMaybeFree != null) {
                signals.add(onMaybeFree);
            }
            return true;
        });
    }

    void dropWaiters(MemoryLockBackend backend) {
        for (String name : namesInUse()) {
            guarded(name, queue -> {
                queue.dropWaiters(backend);
                return true;
            });
        }
    }

    private String[] namesInUse() {
        mutex.lock();
        try {
            return queues.keySet().toArray(String[]::new);
        } finally {
            mutex.unlock();
        }
    }

    /** Runs one request on a name's queue: removes lapsed entries before it, and signals the next waiters after it. */
    private <T> T guarded(String name, QueueAction<T> action) {
        T result;
        mutex.lock();
        try {
            MemoryQueue queue = queues.computeIfAbsent(name, MemoryQueue::new);
            queue.dropLapsed(ticker.getAsLong());
            result = action.apply(queue);
            queue.signal(signals::add);
            if (queue.isUnused()) {
                queues.remove(name);
            }
        } finally {
            mutex.unlock();
        }
        signals.deliver();
        return result;
    }

    /** One request on a queue, run under the mutex. */
    @FunctionalInterface
    private interface QueueAction<T> {
        T apply(MemoryQueue queue);
    }
}
