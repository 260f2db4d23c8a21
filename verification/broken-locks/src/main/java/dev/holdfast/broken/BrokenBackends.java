package dev.holdfast.broken;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.fault.ForwardingBackend;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Backends with one thing wrong. */
public final class BrokenBackends {
    private BrokenBackends() {}

    public static LockBackend noOp(LockBackend backend) {
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

    public static LockBackend renewIgnored(LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                super.renew(grants, timeoutMillis);
                return done(renewed(grants));
            }
        };
    }

    /** Now and then, the answer to a renewal says that the lock is lost, which it is then. */
    public static LockBackend lostWithoutCause(LockBackend backend) {
        return renewResults(
                backend,
                (grant, result) -> ThreadLocalRandom.current().nextInt(50) == 0
                        ? new RenewResult.Lost(LossReason.REVOKED, "made up")
                        : result);
    }

    /** Waiters ask again and again without a pause, though nothing has changed. */
    public static LockBackend spinning(LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public BackendInfo info() {
                return super.info().toBuilder()
                        .pollMinMillis(1)
                        .pollMaxMillis(1)
                        .build();
            }

            @Override
            public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
                return super.subscribe(ticket, () -> {});
            }
        };
    }

    /** Now and then, an attempt fails as if the store could not be reached. */
    public static LockBackend unavailableWithoutCause(LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return ThreadLocalRandom.current().nextInt(20) == 0
                        ? CompletableFuture.failedFuture(new LockUnavailableException("made up"))
                        : super.tryAcquire(request);
            }
        };
    }

    private static List<RenewResult> renewed(List<Grant> grants) {
        return grants.stream()
                .<RenewResult>map(grant -> new RenewResult.Renewed(grant.leaseMillis()))
                .toList();
    }

    public static LockBackend newOwnerEachTime(LockBackend backend) {
        Map<OwnerId, OwnerId> latest = new ConcurrentHashMap<>();
        return new Renaming(backend) {
            @Override
            AcquisitionId toServer(AcquisitionId acquisition) {
                return new AcquisitionId(
                        acquisition.name(),
                        latest.getOrDefault(acquisition.owner(), acquisition.owner()),
                        acquisition.demand());
            }

            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                AcquisitionId acquisition = request.acquisition();
                latest.put(acquisition.owner(), OwnerId.random());
                return super.tryAcquire(request);
            }
        };
    }

    private static AcquireRequest asking(AcquireRequest request, long waitMillis, @Nullable Ticket ticket) {
        return new AcquireRequest(
                request.acquisition(),
                request.leaseMillis(),
                waitMillis,
                request.fair(),
                ticket,
                request.timeoutMillis(),
                request.identity());
    }

    public static LockBackend grantsToDead(LockBackend backend) {
        Map<AcquisitionId, AcquireRequest> waiting = new ConcurrentHashMap<>();
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(request).whenComplete((attempt, failure) -> {
                    if (attempt instanceof AcquireResult.Busy busy && busy.ticket() != null) {
                        waiting.put(request.acquisition(), asking(request, request.waitMillis(), busy.ticket()));
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

    public static LockBackend waiterStays(LockBackend backend) {
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

    public static LockBackend releaseNothing(LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                return done(ReleaseResult.RELEASED);
            }
        };
    }

    /** As if whatever happens happened before it began to listen. */
    public static LockBackend neverWoken(LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
                return super.subscribe(ticket, () -> {});
            }
        };
    }

    /** No queue: a waiter tries again after some time. */
    public static LockBackend disorder(LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(asking(request, 0, null))
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

    public static LockBackend tokenReset(LockBackend backend) {
        return tokens(backend, grant -> 1 + grant.token() % 7);
    }

    public static LockBackend tokenShared(LockBackend backend) {
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

    public static LockBackend renewUnchecked(MemoryStore store, LockBackend backend) {
        return renewResults(
                backend,
                (grant, result) -> store.entries(grant.acquisition().name()) > 0
                        ? new RenewResult.Renewed(grant.leaseMillis())
                        : result);
    }

    public static LockBackend renewResults(LockBackend backend, BiFunction<Grant, RenewResult, RenewResult> change) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                return super.renew(grants, timeoutMillis).thenApply(results -> {
                    List<RenewResult> changed = new ArrayList<>();
                    for (int i = 0; i < grants.size(); i++) {
                        changed.add(change.apply(grants.get(i), results.get(i)));
                    }
                    return changed;
                });
            }
        };
    }

    public static LockBackend grantStays(MemoryStore store, LockBackend backend) {
        Map<AcquisitionId, Boolean> granted = new ConcurrentHashMap<>();
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(request).whenComplete((attempt, failure) -> {
                    if (attempt instanceof AcquireResult.Granted) {
                        granted.put(request.acquisition(), true);
                    }
                });
            }

            @Override
            public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
                return granted.containsKey(acquisition) ? nothing() : super.abandon(acquisition, timeoutMillis);
            }
        };
    }

    public static LockBackend alwaysQueues(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                AcquireRequest waiting = new AcquireRequest(
                        request.acquisition(),
                        request.leaseMillis(),
                        60_000,
                        request.fair(),
                        request.ticket(),
                        request.timeoutMillis(),
                        request.identity());
                return super.tryAcquire(waiting)
                        .thenApply(attempt -> attempt instanceof AcquireResult.Busy busy && request.waitMillis() == 0
                                ? new AcquireResult.Busy(busy.remainingMillis(), null)
                                : attempt);
            }
        };
    }

    public static LockBackend watchAfterCheck(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
                AtomicBoolean listening = new AtomicBoolean();
                Subscription subscription = super.subscribe(ticket, () -> {
                    if (listening.get()) {
                        onMaybeFree.run();
                    }
                });
                listening.set(true);
                return subscription;
            }
        };
    }

    /** Whoever asks when the lock is free gets it, past the queue. */
    public static LockBackend barging(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(new AcquireRequest(
                                request.acquisition(),
                                request.leaseMillis(),
                                0,
                                request.fair(),
                                null,
                                request.timeoutMillis(),
                                request.identity()))
                        .thenApply(attempt -> attempt instanceof AcquireResult.Busy busy && request.waitMillis() > 0
                                ? new AcquireResult.Busy(busy.remainingMillis(), new NoPlace())
                                : attempt);
            }

            @Override
            public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
                onMaybeFree.run();
                return Subscription.NONE;
            }
        };
    }

    public static LockBackend names(LockBackend backend, UnaryOperator<String> change) {
        return new Renaming(backend) {
            @Override
            AcquisitionId toServer(AcquisitionId acquisition) {
                return new AcquisitionId(change.apply(acquisition.name()), acquisition.owner(), acquisition.demand());
            }

            @Override
            public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
                return super.holder(change.apply(name), timeoutMillis);
            }
        };
    }

    public static LockBackend staleHolder(MemoryStore store, LockBackend backend) {
        Map<String, HolderInfo> last = new ConcurrentHashMap<>();
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                String name = grant.acquisition().name();
                return super.holder(name, timeoutMillis).thenCompose(holder -> {
                    holder.ifPresent(info -> last.put(name, info));
                    return super.release(grant, timeoutMillis);
                });
            }

            @Override
            public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
                return super.holder(name, timeoutMillis)
                        .thenApply(holder -> holder.or(() -> Optional.ofNullable(last.get(name))));
            }
        };
    }

    /** Calls acquisitions by another name or owner on the server. */
    private abstract static class Renaming extends ForwardingBackend {
        Renaming(LockBackend delegate) {
            super(delegate);
        }

        abstract AcquisitionId toServer(AcquisitionId acquisition);

        private Grant toServer(Grant grant) {
            return new Grant(
                    toServer(grant.acquisition()), grant.token(), grant.leaseMillis(), grant.slot(), grant.handle());
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            AcquireRequest renamed = new AcquireRequest(
                    toServer(request.acquisition()),
                    request.leaseMillis(),
                    request.waitMillis(),
                    request.fair(),
                    request.ticket(),
                    request.timeoutMillis(),
                    request.identity());
            return super.tryAcquire(renamed).thenApply(attempt -> {
                if (attempt instanceof AcquireResult.Granted granted) {
                    Grant grant = granted.grant();
                    return new AcquireResult.Granted(new Grant(
                            request.acquisition(), grant.token(), grant.leaseMillis(), grant.slot(), grant.handle()));
                }
                return attempt;
            });
        }

        @Override
        public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
            return super.abandon(toServer(acquisition), timeoutMillis);
        }

        @Override
        public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
            return super.renew(grants.stream().map(this::toServer).toList(), timeoutMillis);
        }

        @Override
        public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
            return super.release(toServer(grant), timeoutMillis);
        }
    }
}
