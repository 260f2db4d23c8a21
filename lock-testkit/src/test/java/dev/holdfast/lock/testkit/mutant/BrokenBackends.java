package dev.holdfast.lock.testkit.mutant;

import dev.holdfast.lock.HolderInfo;
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
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;

/** Backends with one thing wrong. */
final class BrokenBackends {
    private static final AtomicLong COUNTER = new AtomicLong();

    private BrokenBackends() {}

    static LockBackend noOp(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return done(new AcquireResult.Granted(
                        new Grant(request.acquisition(), COUNTER.incrementAndGet(), request.leaseMillis(), null)));
            }

            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                return done(grants.stream()
                        .<RenewResult>map(grant -> new RenewResult.Renewed(grant.leaseMillis()))
                        .toList());
            }

            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                return done(ReleaseResult.RELEASED);
            }
        };
    }

    static LockBackend getThenSet(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                String name = request.acquisition().name();
                if (store.entries(name) > 0) {
                    return super.tryAcquire(request);
                }
                LockSupport.parkNanos(3_000_000); // on a busy machine too, another one comes between
                store.expire(name);
                return super.tryAcquire(request);
            }
        };
    }

    static LockBackend releaseUnchecked(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                String name = grant.acquisition().name();
                boolean held = store.entries(name) > 0;
                store.expire(name);
                return done(held ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD);
            }
        };
    }

    static LockBackend renewUnchecked(MemoryStore store, LockBackend backend) {
        return renewResults(
                backend,
                (grant, result) -> store.entries(grant.acquisition().name()) > 0
                        ? new RenewResult.Renewed(grant.leaseMillis())
                        : result);
    }

    static LockBackend renewResults(LockBackend backend, BiFunction<Grant, RenewResult, RenewResult> change) {
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

    static LockBackend renewNothing(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                return done(grants.stream()
                        .<RenewResult>map(
                                grant -> store.entries(grant.acquisition().name()) > 0
                                        ? new RenewResult.Renewed(grant.leaseMillis())
                                        : new RenewResult.Lost(LossReason.EXPIRED, "gone"))
                        .toList());
            }
        };
    }

    static LockBackend renewFirst(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                return super.renew(grants.subList(0, 1), timeoutMillis)
                        .thenApply(results ->
                                grants.stream().map(grant -> results.get(0)).toList());
            }
        };
    }

    static LockBackend endlessLease(MemoryStore store, LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(new AcquireRequest(
                                request.acquisition(),
                                86_400_000,
                                request.waitMillis(),
                                request.fair(),
                                request.ticket(),
                                request.timeoutMillis(),
                                request.identity()))
                        .thenApply(result -> result instanceof AcquireResult.Granted granted
                                ? asAsked(granted.grant(), request.leaseMillis())
                                : result);
            }

            private AcquireResult asAsked(Grant grant, long leaseMillis) {
                return new AcquireResult.Granted(
                        new Grant(grant.acquisition(), grant.token(), leaseMillis, grant.slot(), grant.handle()));
            }
        };
    }

    static LockBackend newOwnerEachTime(MemoryStore store, LockBackend backend) {
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

    static LockBackend grantsToDead(MemoryStore store, LockBackend backend) {
        Map<AcquisitionId, AcquireRequest> waiting = new ConcurrentHashMap<>();
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(request).whenComplete((attempt, failure) -> {
                    if (attempt instanceof AcquireResult.Busy busy && busy.ticket() != null) {
                        waiting.put(request.acquisition(), withTicket(request, busy.ticket()));
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

    private static AcquireRequest withTicket(AcquireRequest request, Ticket ticket) {
        return new AcquireRequest(
                request.acquisition(),
                request.leaseMillis(),
                request.waitMillis(),
                request.fair(),
                ticket,
                request.timeoutMillis(),
                request.identity());
    }

    static LockBackend waiterStays(MemoryStore store, LockBackend backend) {
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

    static LockBackend grantStays(MemoryStore store, LockBackend backend) {
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

    static LockBackend alwaysQueues(MemoryStore store, LockBackend backend) {
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

    static LockBackend watchAfterCheck(MemoryStore store, LockBackend backend) {
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
    static LockBackend barging(MemoryStore store, LockBackend backend) {
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

    private record NoPlace() implements Ticket {}

    static LockBackend tokenReset(MemoryStore store, LockBackend backend) {
        return new Tokens(backend) {
            @Override
            long token(Grant grant) {
                return 1;
            }
        };
    }

    static LockBackend tokenConstant(MemoryStore store, LockBackend backend) {
        return new Tokens(backend) {
            @Override
            long token(Grant grant) {
                return Math.max(1, grant.token() / 2);
            }
        };
    }

    static LockBackend tokenByArrival(MemoryStore store, LockBackend backend) {
        Map<OwnerId, Long> arrivals = new ConcurrentHashMap<>();
        return new Tokens(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                arrivals.computeIfAbsent(request.acquisition().owner(), any -> COUNTER.incrementAndGet());
                return super.tryAcquire(request);
            }

            @Override
            long token(Grant grant) {
                return arrivals.getOrDefault(grant.acquisition().owner(), 1L);
            }
        };
    }

    static LockBackend names(LockBackend backend, UnaryOperator<String> change) {
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

    static LockBackend staleHolder(MemoryStore store, LockBackend backend) {
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

    private static CompletionStage<Void> nothing() {
        return CompletableFuture.runAsync(() -> {}, Runnable::run);
    }

    private static <T> CompletionStage<T> done(T value) {
        return CompletableFuture.completedStage(value);
    }

    /** Changes tokens before they reach the client; the store goes by owners. */
    private abstract static class Tokens extends ForwardingBackend {
        Tokens(LockBackend delegate) {
            super(delegate);
        }

        abstract long token(Grant grant);

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            return super.tryAcquire(request).thenApply(attempt -> {
                if (attempt instanceof AcquireResult.Granted granted) {
                    Grant grant = granted.grant();
                    return new AcquireResult.Granted(new Grant(
                            grant.acquisition(), token(grant), grant.leaseMillis(), grant.slot(), grant.handle()));
                }
                return attempt;
            });
        }
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
