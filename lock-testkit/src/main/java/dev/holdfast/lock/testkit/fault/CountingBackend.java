package dev.holdfast.lock.testkit.fault;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Counts the requests that a client makes. Thread-safe. */
public final class CountingBackend extends ForwardingBackend {
    private final Map<Request, AtomicLong> all = new ConcurrentHashMap<>();
    private final Map<String, Map<Request, AtomicLong>> byName = new ConcurrentHashMap<>();
    private final Map<String, Set<OwnerId>> busyOwners = new ConcurrentHashMap<>();

    /**
     * Wraps a backend.
     *
     * @param delegate the backend, closed with this one
     */
    public CountingBackend(LockBackend delegate) {
        super(delegate);
    }

    /**
     * Returns how many requests of that kind were made; a renewal of many grants is one.
     *
     * @param request the kind
     * @return the number so far
     */
    public long count(Request request) {
        AtomicLong count = all.get(request);
        return count == null ? 0 : count.get();
    }

    /**
     * Returns how many requests of that kind concerned a lock.
     *
     * @param request the kind
     * @param name the lock's name
     * @return the number so far
     */
    public long count(Request request, String name) {
        Map<Request, AtomicLong> counts = byName.get(name);
        AtomicLong count = counts == null ? null : counts.get(request);
        return count == null ? 0 : count.get();
    }

    /**
     * Returns how many requests of any kind were made.
     *
     * @return the number so far
     */
    public long total() {
        return all.values().stream().mapToLong(AtomicLong::get).sum();
    }

    /**
     * Returns how many acquisitions of a lock had the answer busy at least once.
     *
     * @param name the lock's name
     * @return the number so far
     */
    public int busyAcquisitions(String name) {
        Set<OwnerId> owners = busyOwners.get(name);
        return owners == null ? 0 : owners.size();
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        AcquisitionId acquisition = request.acquisition();
        count(Request.ATTEMPT, List.of(acquisition.name()));
        return super.tryAcquire(request).whenComplete((attempt, failure) -> {
            if (attempt instanceof AcquireResult.Busy) {
                busyOwners
                        .computeIfAbsent(acquisition.name(), any -> ConcurrentHashMap.newKeySet())
                        .add(acquisition.owner());
            }
        });
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        count(Request.ABANDON, List.of(acquisition.name()));
        return super.abandon(acquisition, timeoutMillis);
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        count(
                Request.RENEW,
                grants.stream().map(grant -> grant.acquisition().name()).toList());
        return super.renew(grants, timeoutMillis);
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        count(Request.RELEASE, List.of(grant.acquisition().name()));
        return super.release(grant, timeoutMillis);
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        count(Request.HOLDER, List.of(name));
        return super.holder(name, timeoutMillis);
    }

    @Override
    public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        count(Request.HOLDER, List.of(name));
        return super.holders(name, timeoutMillis);
    }

    @Override
    public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
        count(Request.LIMIT, List.of(name));
        return super.changeLimit(name, from, to, timeoutMillis);
    }

    private void count(Request request, List<String> names) {
        all.computeIfAbsent(request, any -> new AtomicLong()).incrementAndGet();
        for (String name : names) {
            byName.computeIfAbsent(name, any -> new ConcurrentHashMap<>())
                    .computeIfAbsent(request, any -> new AtomicLong())
                    .incrementAndGet();
        }
    }
}
