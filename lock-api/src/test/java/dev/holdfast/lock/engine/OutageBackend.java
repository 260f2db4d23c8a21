package dev.holdfast.lock.engine;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Any number of uncontended locks. Requests are answered immediately, fail immediately while {@link #failure} is set, or get
 * no answer at all.
 */
class OutageBackend implements LockBackend {
    private final BackendInfo info;
    private final LongSupplier clockNanos;
    final Map<String, AcquisitionId> holders = new HashMap<>();
    private final Map<Long, Integer> removalsBySecond = new HashMap<>();

    @Nullable Supplier<LockException> failure;

    /** The answer to the next release, if it differs from the normal one. */
    @Nullable CompletableFuture<ReleaseResult> releaseAnswer;

    boolean silent;
    long tokens;
    int attempts;
    int removals;

    OutageBackend(boolean blocking, boolean expiring, LongSupplier clockNanos) {
        this.info = BackendInfo.named("outage")
                .blocking(blocking)
                .minLeaseMillis(1)
                .pollMinMillis(1000)
                .pollMaxMillis(1000)
                .expiring(expiring)
                .build();
        this.clockNanos = clockNanos;
    }

    static LockException unreachable() {
        return new LockUnavailableException("connection refused");
    }

    static LockException noPermission() {
        return new LockConfigurationException("no permission");
    }

    @Override
    public BackendInfo info() {
        return info;
    }

    private <T> CompletionStage<T> answer(Supplier<T> effect) {
        if (silent) {
            return new CompletableFuture<>();
        }
        Supplier<LockException> down = failure;
        return down == null
                ? CompletableFuture.completedFuture(effect.get())
                : CompletableFuture.failedFuture(down.get());
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        attempts++;
        AcquisitionId asking = request.acquisition();
        return answer(
                () -> holders.computeIfAbsent(asking.name(), name -> asking).equals(asking)
                        ? new AcquireResult.Granted(new Grant(asking, ++tokens, request.leaseMillis(), null))
                        : new AcquireResult.Busy(-1, null));
    }

    <T> CompletionStage<T> remove(AcquisitionId acquisition, T removed, T absent) {
        removals++;
        removalsBySecond.merge(clockNanos.getAsLong() / 1_000_000_000, 1, Integer::sum);
        return answer(() -> holders.remove(acquisition.name(), acquisition) ? removed : absent);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        return remove(acquisition, true, false).thenAccept(ignored -> {});
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        CompletionStage<ReleaseResult> released =
                remove(grant.acquisition(), ReleaseResult.RELEASED, ReleaseResult.NOT_HELD);
        CompletableFuture<ReleaseResult> later = releaseAnswer;
        releaseAnswer = null;
        return later != null ? later : released;
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return answer(() -> grants.stream()
                .map(grant -> (RenewResult) new RenewResult.Renewed(grant.leaseMillis()))
                .toList());
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    /** Deletes a lock as an administrator may do; the client is not notified. */
    void remove(String name) {
        holders.remove(name);
    }

    boolean isHeld(String name) {
        return holders.containsKey(name);
    }

    int mostRemovalsInASecond() {
        return removalsBySecond.values().stream().mapToInt(count -> count).max().orElse(0);
    }

    @Override
    public void close() {}
}
