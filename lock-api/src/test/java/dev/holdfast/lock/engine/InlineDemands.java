package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One name with all demands and without a queue, used by this client only and answered immediately on the calling thread, so
 * that only the engine's own concurrency remains.
 */
public final class InlineDemands implements LockBackend {
    private static final BackendInfo INFO = BackendInfo.named("inline")
            .minLeaseMillis(1)
            .pollMinMillis(1000)
            .pollMaxMillis(1000)
            .demands(EnumSet.allOf(Demand.Kind.class))
            .build();

    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<OwnerId, Grant> holders = new LinkedHashMap<>();
    private long tokens;

    /** Whether a writer of another client waits, behind which nobody else gets a lock. */
    public volatile boolean writerWaits;

    @Override
    public BackendInfo info() {
        return INFO;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        return answer(() -> {
            Grant held = holders.get(request.acquisition().owner());
            if (held == null && !writerWaits && hasRoom(request.demand())) {
                int slot = request.demand() instanceof Demand.Permits ? freeSlot() : 0;
                held = new Grant(request.acquisition(), ++tokens, request.leaseMillis(), slot, null);
                holders.put(request.acquisition().owner(), held);
            }
            return held == null ? new AcquireResult.Busy(-1, null) : new AcquireResult.Granted(held);
        });
    }

    private boolean hasRoom(Demand demand) {
        int permits = demand instanceof Demand.Permits asked ? asked.permits() : 0;
        for (Grant held : holders.values()) {
            if (!(held.demand().kind() == demand.kind()) || demand instanceof Demand.Exclusive) {
                return false;
            }
            permits += held.demand() instanceof Demand.Permits others ? others.permits() : 0;
        }
        return !(demand instanceof Demand.Permits asked) || permits <= asked.limit();
    }

    private int freeSlot() {
        int slot = 1;
        while (isTaken(slot)) {
            slot++;
        }
        return slot;
    }

    private boolean isTaken(int slot) {
        return holders.values().stream().anyMatch(held -> held.slot() == slot);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        return this.<@Nullable Void>answer(() -> {
            holders.remove(acquisition.owner());
            return null;
        });
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return answer(() -> grants.stream()
                .map(grant -> holders.containsKey(grant.acquisition().owner())
                        ? new RenewResult.Renewed(grant.leaseMillis())
                        : (RenewResult) new RenewResult.Lost(LossReason.REVOKED, "not a holder"))
                .toList());
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        return answer(() ->
                holders.remove(grant.acquisition().owner()) == null ? ReleaseResult.NOT_HELD : ReleaseResult.RELEASED);
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    private <T> CompletionStage<T> answer(Supplier<T> request) {
        mutex.lock();
        try {
            return CompletableFuture.completedFuture(request.get());
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public void close() {
        // Nothing is open.
    }
}
