package dev.holdfast.broken;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.fault.ForwardingBackend;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;

/** Backends that get shares or permits wrong. */
public final class BrokenDemands {
    private BrokenDemands() {}

    public static LockBackend oneReader(MemoryStore store, LockBackend backend) {
        return asking(
                backend, id -> id.demand() instanceof Demand.Shared ? new AcquisitionId(id.name(), id.owner()) : id);
    }

    public static LockBackend noLimit(MemoryStore store, LockBackend backend) {
        return asking(
                backend,
                id -> id.demand() instanceof Demand.Permits asked
                        ? new AcquisitionId(
                                id.name(), id.owner(), new Demand.Permits(asked.permits(), Demand.MAX_PERMITS))
                        : id);
    }

    /** A client with another limit takes the store's, and says nothing. */
    public static LockBackend limitNotCompared(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                AcquisitionId id = request.acquisition();
                return super.tryAcquire(request).thenCompose(answer -> {
                    if (answer instanceof AcquireResult.OtherLimit other
                            && id.demand() instanceof Demand.Permits asked
                            && asked.permits() <= other.limit()) {
                        Demand stored = new Demand.Permits(asked.permits(), other.limit());
                        return super.tryAcquire(with(request, new AcquisitionId(id.name(), id.owner(), stored)))
                                .thenApply(again -> of(id, again));
                    }
                    return CompletableFuture.completedStage(answer);
                });
            }
        };
    }

    public static LockBackend limitNotChanged(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
                return CompletableFuture.completedStage(to);
            }
        };
    }

    /** One thread sends everything, so that renewals wait behind the attempts of a crowd. */
    public static LockBackend renewsBehindAttempts(MemoryStore store, LockBackend backend) {
        ExecutorService sender = Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task, "sender of a broken backend");
            thread.setDaemon(true);
            return thread;
        });
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return CompletableFuture.supplyAsync(
                                () -> {
                                    LockSupport.parkNanos(5_000_000);
                                    return super.tryAcquire(request);
                                },
                                sender)
                        .thenCompose(answer -> answer);
            }

            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                return CompletableFuture.supplyAsync(() -> super.renew(grants, timeoutMillis), sender)
                        .thenCompose(answer -> answer);
            }

            @Override
            public void close() {
                sender.shutdown();
                super.close();
            }
        };
    }

    public static LockBackend oneSlot(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(request).thenApply(answer -> {
                    if (answer instanceof AcquireResult.Granted granted
                            && granted.grant().slot() > 1) {
                        Grant grant = granted.grant();
                        return new AcquireResult.Granted(
                                new Grant(grant.acquisition(), grant.token(), grant.leaseMillis(), 1, grant.handle()));
                    }
                    return answer;
                });
            }
        };
    }

    public static LockBackend firstReaderReleasesAll(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                return super.release(grant, timeoutMillis).thenApply(result -> {
                    if (grant.demand() instanceof Demand.Shared) {
                        store.expire(grant.acquisition().name());
                    }
                    return result;
                });
            }
        };
    }

    public static LockBackend oneHolderTold(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
                return super.holder(name, timeoutMillis)
                        .thenApply(holder -> holder.stream().toList());
            }
        };
    }

    /** Asks the store for something else than it is asked for. */
    private static LockBackend asking(LockBackend backend, UnaryOperator<AcquisitionId> change) {
        return new ForwardingBackend(backend) {
            private Grant onServer(Grant grant) {
                AcquisitionId id = change.apply(grant.acquisition());
                int slot = id.demand() instanceof Demand.Permits ? grant.slot() : 0;
                return new Grant(id, grant.token(), grant.leaseMillis(), slot, grant.handle());
            }

            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(with(request, change.apply(request.acquisition())))
                        .thenApply(answer -> of(request.acquisition(), answer));
            }

            @Override
            public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
                return super.abandon(change.apply(acquisition), timeoutMillis);
            }

            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                return super.renew(grants.stream().map(this::onServer).toList(), timeoutMillis);
            }

            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                return super.release(onServer(grant), timeoutMillis);
            }
        };
    }

    private static AcquireRequest with(AcquireRequest request, AcquisitionId id) {
        return new AcquireRequest(
                id,
                request.leaseMillis(),
                request.waitMillis(),
                request.fair(),
                request.ticket(),
                request.timeoutMillis(),
                request.identity());
    }

    private static AcquireResult of(AcquisitionId id, AcquireResult answer) {
        if (answer instanceof AcquireResult.Granted granted) {
            Grant grant = granted.grant();
            return new AcquireResult.Granted(
                    new Grant(id, grant.token(), grant.leaseMillis(), grant.slot(), grant.handle()));
        }
        return answer;
    }
}
