package dev.holdfast.broken;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.fault.ForwardingBackend;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** Servers with one thing wrong; each supplies what serves one connection. */
public final class BrokenServers {
    private static final long DAY_MILLIS = 86_400_000;

    private BrokenServers() {}

    public static Supplier<LockBackend> getThenSet(MemoryStore store) {
        return () -> new ForwardingBackend(store.newBackend()) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                String name = request.acquisition().name();
                if (store.entries(name) == 0) {
                    LockSupport.parkNanos(10_000_000);
                    store.expire(name);
                }
                return super.tryAcquire(request);
            }
        };
    }

    public static Supplier<LockBackend> releaseUnchecked(MemoryStore store) {
        return () -> new ForwardingBackend(store.newBackend()) {
            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                String name = grant.acquisition().name();
                boolean held = store.entries(name) > 0;
                store.expire(name);
                return done(held ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD);
            }

            @Override
            public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
                store.expire(acquisition.name());
                return super.abandon(acquisition, timeoutMillis);
            }
        };
    }

    /** Whoever connects is sent to the one or the other. */
    public static Supplier<LockBackend> split(MemoryStore store) {
        MemoryStore other = MemoryStore.create();
        AtomicInteger connections = new AtomicInteger();
        return () -> (connections.getAndIncrement() % 2 == 0 ? store : other).newBackend();
    }

    public static Supplier<LockBackend> fastClock(MemoryStore store) {
        MemoryStore fast = MemoryStore.create(() -> System.nanoTime() * 2);
        return fast::newBackend;
    }

    public static Supplier<LockBackend> endless(MemoryStore store) {
        return () -> new ForwardingBackend(store.newBackend()) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(new AcquireRequest(
                        request.acquisition(),
                        DAY_MILLIS,
                        request.waitMillis(),
                        request.fair(),
                        request.ticket(),
                        request.timeoutMillis(),
                        request.identity()));
            }
        };
    }

    public static Supplier<LockBackend> renewNothing(MemoryStore store) {
        return () -> new ForwardingBackend(store.newBackend()) {
            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                return done(grants.stream()
                        .<RenewResult>map(
                                grant -> store.entries(grant.acquisition().name()) > 0
                                        ? new RenewResult.Renewed(grant.leaseMillis())
                                        : new RenewResult.Lost(LossReason.REVOKED, "gone"))
                        .toList());
            }
        };
    }

    public static Supplier<LockBackend> renewFirst(MemoryStore store) {
        return () -> new ForwardingBackend(store.newBackend()) {
            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                return super.renew(grants.subList(0, 1), timeoutMillis)
                        .thenApply(results ->
                                grants.stream().map(grant -> results.get(0)).toList());
            }
        };
    }

    /** A repeated attempt puts the lock back on the lease of the first one, which may have ended since. */
    public static Supplier<LockBackend> movesBack(MemoryStore store) {
        Map<OwnerId, Long> ends = new ConcurrentHashMap<>();
        return () -> new ForwardingBackend(store.newBackend()) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                String name = request.acquisition().name();
                OwnerId owner = request.acquisition().owner();
                CompletionStage<AcquireResult> answer = super.tryAcquire(request);
                return answer.thenApply(attempt -> {
                    if (attempt instanceof AcquireResult.Granted granted) {
                        long now = System.nanoTime();
                        long end = ends.computeIfAbsent(
                                owner, any -> now + granted.grant().leaseMillis() * 1_000_000);
                        if (now - end > 0) {
                            store.expire(name);
                        }
                    }
                    return attempt;
                });
            }
        };
    }

    /** A place that was lost with its connection is asked for again later, and keeps its number. */
    public static Supplier<LockBackend> tokenByArrival(MemoryStore store) {
        Map<OwnerId, Long> arrivals = new ConcurrentHashMap<>();
        AtomicLong counter = new AtomicLong();
        return () -> new ForwardingBackend(store.newBackend()) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                OwnerId owner = request.acquisition().owner();
                long arrival = arrivals.computeIfAbsent(owner, any -> counter.incrementAndGet());
                return super.tryAcquire(request)
                        .thenApply(attempt -> attempt instanceof AcquireResult.Granted granted
                                ? new AcquireResult.Granted(new Grant(
                                        granted.grant().acquisition(),
                                        arrival,
                                        granted.grant().leaseMillis(),
                                        null))
                                : attempt);
            }
        };
    }

    private static <T> CompletionStage<T> done(T value) {
        return CompletableFuture.completedStage(value);
    }
}
