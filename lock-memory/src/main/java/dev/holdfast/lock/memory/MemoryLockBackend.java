package dev.holdfast.lock.memory;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * A backend on a {@link MemoryStore}. Requests are answered at once on the calling thread; signals are delivered by the thread
 * whose request freed the lock. Closing the backend removes its waiters from the queues, while its grants stay until their leases
 * end, as those of a dead process would. Thread-safe.
 */
public final class MemoryLockBackend implements LockBackend {
    private static final BackendInfo INFO = BackendInfo.named("memory")
            .fifo(true)
            .minLeaseMillis(1)
            .pollMinMillis(MemoryQueue.POLL_MILLIS)
            .pollMaxMillis(MemoryQueue.POLL_MILLIS)
            .ordered(true)
            .listing(true)
            .demands(EnumSet.allOf(Demand.Kind.class))
            .build();

    private final MemoryStore store;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Creates a backend.
     *
     * @param store the store, which may be shared with other backends
     */
    public MemoryLockBackend(MemoryStore store) {
        this.store = store;
    }

    @Override
    public BackendInfo info() {
        return INFO;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        return answer(() -> store.tryAcquire(request, this));
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        MemoryTicket memoryTicket = (MemoryTicket) ticket;
        store.subscribe(memoryTicket.name(), memoryTicket.owner(), onMaybeFree);
        return () -> store.subscribe(memoryTicket.name(), memoryTicket.owner(), null);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        return answer(() -> store.abandon(acquisition)).thenAccept(removed -> {});
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return answer(() -> {
            store.countRenewal();
            return grants.stream().map(store::renew).toList();
        });
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        return answer(() -> store.release(grant));
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return answer(() -> store.holder(name));
    }

    @Override
    public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        return answer(() -> store.holders(name));
    }

    @Override
    public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
        return answer(() -> store.changeLimit(name, from, to));
    }

    @Override
    public CompletionStage<LockListing> list(String prefix, int limit, long timeoutMillis) {
        return answer(() -> store.list(prefix, limit));
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            store.dropWaiters(this);
        }
    }

    private <T> CompletionStage<T> answer(Supplier<T> request) {
        if (closed.get()) {
            return CompletableFuture.failedStage(
                    new LockUnavailableException("this connection to the memory store is closed; open another one"));
        }
        return CompletableFuture.completedStage(request.get());
    }
}
