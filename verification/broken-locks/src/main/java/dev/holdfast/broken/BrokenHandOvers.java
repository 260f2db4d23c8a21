package dev.holdfast.broken;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.fault.ForwardingBackend;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;

/** Backends that do one thing wrong when a lock is handed over to their waiters. */
public final class BrokenHandOvers {
    private BrokenHandOvers() {}

    /** A lease that was handed over counts from its message, not from the attempt before. */
    public static LockBackend handedFromArrival(LockBackend backend) {
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                Consumer<Grant> onHandOver = request.onHandOver();
                if (onHandOver == null) {
                    return super.tryAcquire(request);
                }
                long sentNanos = System.nanoTime();
                return super.tryAcquire(takingOver(request, grant -> {
                    long sinceMillis = (System.nanoTime() - sentNanos) / 1_000_000;
                    onHandOver.accept(new Grant(
                            grant.acquisition(),
                            grant.token(),
                            grant.leaseMillis() + sinceMillis,
                            grant.slot(),
                            grant.handle()));
                }));
            }
        };
    }

    private static AcquireRequest takingOver(AcquireRequest request, Consumer<Grant> onHandOver) {
        return new AcquireRequest(
                request.acquisition(),
                request.leaseMillis(),
                request.waitMillis(),
                request.fair(),
                request.ticket(),
                request.timeoutMillis(),
                request.identity(),
                onHandOver);
    }

    /** One of several waiters that give up dies instead: it stays in line, listens, and takes no notice. */
    public static LockBackend deadWaiters(LockBackend backend, int oneOf) {
        Set<OwnerId> dead = ConcurrentHashMap.newKeySet();
        Map<OwnerId, Ticket> waiting = new ConcurrentHashMap<>();
        return new ForwardingBackend(backend) {
            @Override
            public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
                OwnerId owner = request.acquisition().owner();
                Consumer<Grant> onHandOver = request.onHandOver();
                AcquireRequest asked = onHandOver == null
                        ? request
                        : takingOver(request, grant -> {
                            if (!dead.contains(owner)) {
                                onHandOver.accept(grant);
                            }
                        });
                return super.tryAcquire(asked).whenComplete((attempt, failure) -> {
                    if (attempt instanceof AcquireResult.Busy busy && busy.ticket() != null && onHandOver != null) {
                        waiting.put(owner, busy.ticket());
                    } else {
                        waiting.remove(owner);
                    }
                });
            }

            @Override
            public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
                Ticket ticket = waiting.remove(acquisition.owner());
                if (ticket == null || ThreadLocalRandom.current().nextInt(oneOf) > 0) {
                    return super.abandon(acquisition, timeoutMillis);
                }
                dead.add(acquisition.owner());
                delegate().subscribe(ticket, () -> {});
                return CompletableFuture.runAsync(() -> {}, Runnable::run);
            }
        };
    }
}
