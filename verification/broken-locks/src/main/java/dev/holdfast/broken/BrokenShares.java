package dev.holdfast.broken;

import dev.holdfast.lock.Demand;
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
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Servers that do one thing wrong with shares or permits; each supplies what serves one connection. */
public final class BrokenShares {
    private static final long READS_NANOS = 1_500_000_000L;

    private BrokenShares() {}

    /** Readers do not wait, and no client waits for readers. */
    public static Supplier<LockBackend> readersBesideWriters(MemoryStore store) {
        MemoryStore readers = MemoryStore.create();
        return () -> new Aside(
                store.newBackend(),
                readers.newBackend(),
                request -> request.demand().kind() == Demand.Kind.SHARED);
    }

    /** A writer has no place in line while there are readers, and is notified when there are none. */
    public static Supplier<LockBackend> readersPass(MemoryStore store) {
        Map<String, Map<OwnerId, Long>> readers = new ConcurrentHashMap<>();
        Map<String, Map<OwnerId, Runnable>> writers = new ConcurrentHashMap<>();
        return () -> new ForwardingBackend(store.newBackend()) {
            private Map<OwnerId, Long> readers(String name) {
                Map<OwnerId, Long> ofName = readers.computeIfAbsent(name, any -> new ConcurrentHashMap<>());
                ofName.values().removeIf(seen -> System.nanoTime() - seen > READS_NANOS);
                return ofName;
            }

            private void left(AcquisitionId acquisition) {
                Map<OwnerId, Long> ofName = readers(acquisition.name());
                ofName.remove(acquisition.owner());
                if (ofName.isEmpty()) {
                    writers.getOrDefault(acquisition.name(), Map.of()).values().forEach(Runnable::run);
                }
            }

            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                AcquisitionId acquisition = request.acquisition();
                boolean reads = request.demand().kind() == Demand.Kind.SHARED;
                if (!reads && !readers(acquisition.name()).isEmpty()) {
                    return CompletableFuture.completedStage(
                            new AcquireResult.Busy(-1, request.waitMillis() == 0 ? null : new Aloof(acquisition)));
                }
                return super.tryAcquire(request).whenComplete((attempt, failure) -> {
                    if (reads && attempt instanceof AcquireResult.Granted) {
                        readers(acquisition.name()).put(acquisition.owner(), System.nanoTime());
                    }
                });
            }

            @Override
            public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
                if (!(ticket instanceof Aloof aloof)) {
                    return super.subscribe(ticket, onMaybeFree);
                }
                AcquisitionId writer = aloof.acquisition();
                writers.computeIfAbsent(writer.name(), any -> new ConcurrentHashMap<>())
                        .put(writer.owner(), onMaybeFree);
                return () -> writers.getOrDefault(writer.name(), new ConcurrentHashMap<>())
                        .remove(writer.owner());
            }

            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                grants.forEach(grant -> readers(grant.acquisition().name())
                        .computeIfPresent(grant.acquisition().owner(), (owner, seen) -> System.nanoTime()));
                return super.renew(grants, timeoutMillis);
            }

            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                CompletionStage<ReleaseResult> result = super.release(grant, timeoutMillis);
                left(grant.acquisition());
                return result;
            }

            @Override
            public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
                CompletionStage<Void> result = super.abandon(acquisition, timeoutMillis);
                left(acquisition);
                return result;
            }
        };
    }

    private record Aloof(AcquisitionId acquisition) implements Ticket {}

    /** The first process that asks counts its own permits and no others. */
    public static Supplier<LockBackend> limitIgnored(MemoryStore store) {
        MemoryStore own = MemoryStore.create();
        AtomicReference<String> first = new AtomicReference<>();
        return () -> new Aside(store.newBackend(), own.newBackend(), request -> {
            String identity = request.identity().encoded();
            first.compareAndSet(null, identity);
            return request.demand().kind() == Demand.Kind.PERMITS && identity.equals(first.get());
        });
    }

    /** A release also gives back the permits of another holder, which is not notified. */
    public static Supplier<LockBackend> freedTwice(MemoryStore store) {
        Map<String, ConcurrentLinkedQueue<Grant>> held = new ConcurrentHashMap<>();
        Set<OwnerId> robbed = ConcurrentHashMap.newKeySet();
        return () -> new ForwardingBackend(store.newBackend()) {
            private ConcurrentLinkedQueue<Grant> held(String name) {
                return held.computeIfAbsent(name, any -> new ConcurrentLinkedQueue<>());
            }

            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                return super.tryAcquire(request).thenApply(attempt -> {
                    if (attempt instanceof AcquireResult.Granted granted
                            && request.demand().kind() == Demand.Kind.PERMITS) {
                        held(request.acquisition().name()).add(granted.grant());
                    }
                    return attempt;
                });
            }

            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                ConcurrentLinkedQueue<Grant> ofName = held(grant.acquisition().name());
                ofName.removeIf(each ->
                        each.acquisition().owner().equals(grant.acquisition().owner()));
                if (robbed.remove(grant.acquisition().owner())) {
                    return CompletableFuture.completedStage(ReleaseResult.RELEASED);
                }
                Grant other = ofName.poll();
                if (other != null) {
                    robbed.add(other.acquisition().owner());
                    super.release(other, timeoutMillis);
                }
                return super.release(grant, timeoutMillis);
            }

            @Override
            public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
                return super.renew(grants, timeoutMillis).thenApply(results -> {
                    List<RenewResult> told = new ArrayList<>();
                    for (int i = 0; i < grants.size(); i++) {
                        Grant grant = grants.get(i);
                        told.add(
                                robbed.contains(grant.acquisition().owner())
                                        ? new RenewResult.Renewed(grant.leaseMillis())
                                        : results.get(i));
                    }
                    return told;
                });
            }
        };
    }

    /** Sends some requests to another store, where the rest is not known; tokens are those of the first. */
    private static final class Aside extends ForwardingBackend {
        private static final long TIMEOUT_MILLIS = 1_000;

        private final LockBackend aside;
        private final Predicate<AcquireRequest> chosen;
        private final Set<OwnerId> owners = ConcurrentHashMap.newKeySet();
        private final Map<OwnerId, Long> tokens = new ConcurrentHashMap<>();
        private final Set<Ticket> tickets = ConcurrentHashMap.newKeySet();

        Aside(LockBackend backend, LockBackend aside, Predicate<AcquireRequest> chosen) {
            super(backend);
            this.aside = aside;
            this.chosen = chosen;
        }

        private LockBackend of(AcquisitionId acquisition) {
            return owners.contains(acquisition.owner()) ? aside : delegate();
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            if (!chosen.test(request)) {
                return super.tryAcquire(request);
            }
            owners.add(request.acquisition().owner());
            return aside.tryAcquire(request).thenCompose(attempt -> answered(request, attempt));
        }

        private CompletionStage<AcquireResult> answered(AcquireRequest request, AcquireResult attempt) {
            if (attempt instanceof AcquireResult.Busy busy && busy.ticket() != null) {
                tickets.add(busy.ticket());
            }
            if (!(attempt instanceof AcquireResult.Granted granted)) {
                return CompletableFuture.completedStage(attempt);
            }
            return token(request).thenApply(token -> {
                Grant grant = granted.grant();
                return new AcquireResult.Granted(
                        new Grant(grant.acquisition(), token, grant.leaseMillis(), grant.slot(), grant.handle()));
            });
        }

        /** Of a lock that no other client uses; the same each time. */
        private CompletionStage<Long> token(AcquireRequest request) {
            OwnerId owner = request.acquisition().owner();
            Long known = tokens.get(owner);
            if (known != null) {
                return CompletableFuture.completedStage(known);
            }
            AcquireRequest ask = new AcquireRequest(
                    new AcquisitionId("token of " + owner, owner, Demand.EXCLUSIVE),
                    request.leaseMillis(),
                    0,
                    false,
                    null,
                    request.timeoutMillis(),
                    request.identity());
            return delegate().tryAcquire(ask).thenApply(attempt -> {
                Grant grant = ((AcquireResult.Granted) attempt).grant();
                delegate().release(grant, TIMEOUT_MILLIS);
                tokens.put(owner, grant.token());
                return grant.token();
            });
        }

        @Override
        public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
            return (tickets.contains(ticket) ? aside : delegate()).subscribe(ticket, onMaybeFree);
        }

        @Override
        public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
            return of(acquisition).abandon(acquisition, timeoutMillis);
        }

        /** One after the other, of either store. */
        @Override
        public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
            CompletionStage<List<RenewResult>> all = CompletableFuture.completedStage(List.of());
            for (Grant grant : grants) {
                all = all.thenCombine(of(grant.acquisition()).renew(List.of(grant), timeoutMillis), (before, one) -> {
                    List<RenewResult> more = new ArrayList<>(before);
                    more.addAll(one);
                    return more;
                });
            }
            return all;
        }

        @Override
        public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
            return of(grant.acquisition()).release(grant, timeoutMillis);
        }

        @Override
        public void close() {
            aside.close();
            super.close();
        }
    }
}
