package dev.holdfast.chaos.mutant;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.fault.ForwardingBackend;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** Backends with one thing wrong. */
final class BrokenBackends {
    private BrokenBackends() {}

    static LockBackend noOp(LockBackend backend) {
        AtomicLong tokens = new AtomicLong(System.currentTimeMillis());
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return done(new AcquireResult.Granted(
                        new Grant(request.acquisition(), tokens.incrementAndGet(), request.leaseMillis(), null)));
            }

            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                return done(renewed(grants));
            }

            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                return done(ReleaseResult.RELEASED);
            }
        };
    }

    static LockBackend renewIgnored(LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                super.renew(grants, timeoutMillis);
                return done(renewed(grants));
            }
        };
    }

    private static List<RenewResult> renewed(List<Grant> grants) {
        return grants.stream()
                .<RenewResult>map(grant -> new RenewResult.Renewed(grant.leaseMillis()))
                .toList();
    }

    static LockBackend newOwnerEachTime(LockBackend backend) {
        Map<OwnerId, OwnerId> latest = new ConcurrentHashMap<>();
        return new ForwardingBackend(backend) {
            private AcquisitionId onServer(AcquisitionId acquisition) {
                return new AcquisitionId(
                        acquisition.name(),
                        latest.getOrDefault(acquisition.owner(), acquisition.owner()),
                        acquisition.demand());
            }

            private Grant onServer(Grant grant) {
                return new Grant(onServer(grant.acquisition()), grant.token(), grant.leaseMillis(), null);
            }

            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                latest.put(request.acquisition().owner(), OwnerId.random());
                return super.tryAcquire(asking(request, onServer(request.acquisition()), request.waitMillis(), null))
                        .thenApply(attempt -> attempt instanceof AcquireResult.Granted granted
                                ? new AcquireResult.Granted(new Grant(
                                        request.acquisition(),
                                        granted.grant().token(),
                                        granted.grant().leaseMillis(),
                                        null))
                                : attempt);
            }

            @Override
            public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
                return super.abandon(onServer(acquisition), timeoutMillis);
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

    private static AcquireRequest asking(
            AcquireRequest request, AcquisitionId acquisition, long waitMillis, @Nullable Ticket ticket) {
        return new AcquireRequest(
                acquisition,
                request.leaseMillis(),
                waitMillis,
                request.fair(),
                ticket,
                request.timeoutMillis(),
                request.identity());
    }

    static LockBackend grantsToDead(LockBackend backend) {
        Map<AcquisitionId, AcquireRequest> waiting = new ConcurrentHashMap<>();
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(request).whenComplete((attempt, failure) -> {
                    if (attempt instanceof AcquireResult.Busy busy && busy.ticket() != null) {
                        waiting.put(
                                request.acquisition(),
                                asking(request, request.acquisition(), request.waitMillis(), busy.ticket()));
                    }
                });
            }

            @Override
            public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
                AcquireRequest request = waiting.remove(acquisition);
                if (request == null || request.ticket() == null) {
                    return super.abandon(acquisition, timeoutMillis);
                }
                delegate().subscribe(request.ticket(), () -> delegate().tryAcquire(request));
                return nothing();
            }
        };
    }

    static LockBackend waiterStays(LockBackend backend) {
        Map<AcquisitionId, Boolean> waiting = new ConcurrentHashMap<>();
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(request).whenComplete((attempt, failure) -> {
                    if (attempt instanceof AcquireResult.Busy) {
                        waiting.put(request.acquisition(), true);
                    } else {
                        waiting.remove(request.acquisition());
                    }
                });
            }

            @Override
            public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
                return waiting.remove(acquisition) == null ? super.abandon(acquisition, timeoutMillis) : nothing();
            }
        };
    }

    static LockBackend releaseNothing(LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                return done(ReleaseResult.RELEASED);
            }
        };
    }

    /** As if whatever happens happened before it began to listen. */
    static LockBackend neverWoken(LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
                return super.subscribe(ticket, () -> {});
            }
        };
    }

    /** No queue: a waiter tries again after some time. */
    static LockBackend disorder(LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(asking(request, request.acquisition(), 0, null))
                        .thenApply(attempt -> attempt instanceof AcquireResult.Busy busy && request.waitMillis() > 0
                                ? new AcquireResult.Busy(busy.remainingMillis(), new NoPlace())
                                : attempt);
            }

            @Override
            public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
                AtomicBoolean open = new AtomicBoolean(true);
                Executor later = CompletableFuture.delayedExecutor(
                        ThreadLocalRandom.current().nextInt(20, 400), TimeUnit.MILLISECONDS);
                later.execute(() -> {
                    if (open.get()) {
                        onMaybeFree.run();
                    }
                });
                return () -> open.set(false);
            }
        };
    }

    private record NoPlace() implements Ticket {}

    static LockBackend tokenReset(LockBackend backend) {
        return tokens(backend, grant -> 1 + grant.token() % 7);
    }

    static LockBackend tokenShared(LockBackend backend) {
        return tokens(backend, grant -> Math.max(1, grant.token() / 4));
    }

    private static LockBackend tokens(LockBackend backend, ToLongFunction<Grant> token) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(request).thenApply(attempt -> {
                    if (attempt instanceof AcquireResult.Granted granted) {
                        Grant grant = granted.grant();
                        return new AcquireResult.Granted(new Grant(
                                grant.acquisition(), token.applyAsLong(grant), grant.leaseMillis(), grant.handle()));
                    }
                    return attempt;
                });
            }
        };
    }

    private static CompletionStage<Void> nothing() {
        return CompletableFuture.runAsync(() -> {}, Runnable::run);
    }

    private static <T> CompletionStage<T> done(T value) {
        return CompletableFuture.completedStage(value);
    }
}
