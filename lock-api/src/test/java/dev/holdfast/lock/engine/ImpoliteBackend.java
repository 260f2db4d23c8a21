package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A store that does everything that a backend is allowed to do: it grants shorter leases than requested, mixes late answers
 * with immediate ones in any order, and reports unknown results of renewals. It queues requests with a wait.
 */
final class ImpoliteBackend extends OutageBackend {
    private record Place() implements Ticket {}

    /** The ticket that this store gives. */
    static final Ticket PLACE = new Place();

    /** Whether its calls block; set before its client is created. */
    boolean blocking;

    /** The maximum lease that it grants. */
    long longestMillis = Long.MAX_VALUE;

    /** The answers to the next attempts, in order; further attempts are answered immediately. */
    final Deque<CompletableFuture<AcquireResult>> lateAttempts = new ArrayDeque<>();
    /** The answers to the next renewals, in order. */
    final Deque<CompletableFuture<List<RenewResult>>> lateRenewals = new ArrayDeque<>();
    /** The result for each renewed lease; null for a normal renewal. */
    final Deque<RenewResult> renewResults = new ArrayDeque<>();

    final List<AcquireRequest> requests = new ArrayList<>();
    final List<AcquisitionId> abandoned = new ArrayList<>();
    /** The grants of the latest renewal. */
    List<Grant> renewed = List.of();

    int renewals;

    /** The client's callback, if it has subscribed. */
    @Nullable Runnable signal;

    ImpoliteBackend(LongSupplier clockNanos) {
        super(false, false, clockNanos);
    }

    @Override
    public BackendInfo info() {
        return BackendInfo.named("impolite")
                .blocking(blocking)
                .fifo(true)
                .handsOver(true)
                .demands(EnumSet.allOf(Demand.Kind.class))
                .minLeaseMillis(1)
                .pollMinMillis(60_000)
                .pollMaxMillis(60_000)
                .build();
    }

    /** Returns the answer to the next attempt, which the test completes. */
    CompletableFuture<AcquireResult> answerLate() {
        CompletableFuture<AcquireResult> answer = new CompletableFuture<>();
        lateAttempts.add(answer);
        return answer;
    }

    /** Returns the answer to the next renewal, which the test completes. */
    CompletableFuture<List<RenewResult>> renewLate() {
        CompletableFuture<List<RenewResult>> answer = new CompletableFuture<>();
        lateRenewals.add(answer);
        return answer;
    }

    /** A grant of the latest attempt's demand. */
    Grant grant(long token) {
        AcquireRequest latest = requests.get(requests.size() - 1);
        return new Grant(latest.acquisition(), token, latest.leaseMillis(), null);
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        requests.add(request);
        CompletableFuture<AcquireResult> late = lateAttempts.poll();
        if (late != null) {
            attempts++;
            return late;
        }
        return super.tryAcquire(new AcquireRequest(
                request.acquisition(),
                Math.min(longestMillis, request.leaseMillis()),
                request.waitMillis(),
                request.fair(),
                request.ticket(),
                request.timeoutMillis(),
                request.identity()));
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable listener) {
        signal = listener;
        return () -> signal = null;
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        abandoned.add(acquisition);
        return super.abandon(acquisition, timeoutMillis);
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        renewals++;
        renewed = grants;
        CompletableFuture<List<RenewResult>> late = lateRenewals.poll();
        return late != null
                ? late
                : super.renew(grants, timeoutMillis)
                        .thenApply(results -> results.stream()
                                .map(result -> {
                                    RenewResult other = renewResults.poll();
                                    return other == null ? result : other;
                                })
                                .toList());
    }
}
