package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockTimeoutException;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;
import reactor.core.scheduler.Schedulers;
import reactor.util.context.Context;

/**
 * One subscription's way to a lock and back. The grant is kept here and not in a signal, since a signal may be dropped when a
 * subscription is cancelled before the lease arrives: {@link #end} finds the lease, or ends the acquisition.
 */
final class ReactiveHold {
    private static final CompletableFuture<Lease> ENDED = new CompletableFuture<>();
    private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

    private final LockCall call;
    private final ReleaseThreads releases;
    private final @Nullable CurrentHolds outer;
    private final CompletableFuture<Hold.OfLease> granted = new CompletableFuture<>();
    private final AtomicReference<@Nullable CompletableFuture<Lease>> acquisition = new AtomicReference<>();

    private volatile @Nullable RuntimeException loss;

    ReactiveHold(LockCall call, ReleaseThreads releases, @Nullable CurrentHolds outer) {
        this.call = call;
        this.releases = releases;
        this.outer = outer;
    }

    LockCall call() {
        return call;
    }

    /** Acquires the lock, once; continues on a thread that may be blocked. */
    Mono<Lease> acquire() {
        return Mono.defer(() -> {
            Hold.OfLease covered = CurrentHolds.share(outer, call);
            if (covered != null) {
                return share(covered);
            }
            Duration wait = call.waitFor();
            CompletableFuture<Lease> future = call.lock().acquireAsync(wait == null ? FOREVER : wait);
            return begun(
                    future, future.thenApply(lease -> new Hold.OfLease(call.client(), new SharedLease(call, lease))));
        });
    }

    /** Uses a share of a lease that is there already; it has been taken, and is given back like a grant. */
    Mono<Lease> share(Hold.OfLease covered) {
        return begun(new CompletableFuture<>(), CompletableFuture.completedFuture(covered))
                .doOnNext(lease -> covered.lease().requireNotLost()); // on a thread that may be blocked
    }

    private Mono<Lease> begun(CompletableFuture<Lease> cancellable, CompletableFuture<Hold.OfLease> hold) {
        hold.whenComplete((own, failure) -> {
            if (own != null) {
                granted.complete(own);
            } else if (failure != null) {
                granted.completeExceptionally(unwrapped(failure));
            }
        });
        if (!acquisition.compareAndSet(null, cancellable)) { // cancelled before it began
            cancellable.cancel(false);
            granted.thenAccept(own -> releases.execute(own::release));
            return Mono.error(new CancellationException(call + ": cancelled"));
        }
        return Mono.fromFuture(granted, true).<Lease>map(Hold.OfLease::view).publishOn(Schedulers.boundedElastic());
    }

    /** Returns the hold; only after it was acquired. */
    Hold.OfLease granted() {
        return granted.join();
    }

    /** Runs what makes the publisher, as a locked call of its thread. */
    <T> Publisher<T> publisher(ReactiveCalls.Body<T> body, CallObserver.Observed observed) {
        CurrentHolds entered = CurrentHolds.enter(granted());
        Runnable leave = observed.enter();
        try {
            return body.publisher();
        } catch (Throwable failure) {
            return Mono.error(failure);
        } finally {
            leave.run();
            entered.leave();
        }
    }

    Context write(Context context, CallObserver.Observed observed) {
        Context written = context.put(CurrentHolds.class, new CurrentHolds(granted(), outer));
        Object current = observed.current();
        return current == null ? written : written.put(CallObserver.KEY, current);
    }

    /** Ends the hold or the wait for it; a failure is added to an earlier one as suppressed, or becomes the signal. */
    Mono<Void> end(@Nullable Throwable failure) {
        return Mono.<Void>create(sink -> {
                    CompletableFuture<Lease> begun = acquisition.getAndSet(ENDED);
                    if (begun == null) {
                        sink.success();
                        return;
                    }
                    begun.cancel(false);
                    granted.whenComplete((own, notGranted) -> {
                        if (own == null) {
                            sink.success();
                        } else {
                            releases.execute(() -> release(own, failure, sink));
                        }
                    });
                })
                .publishOn(Schedulers.boundedElastic());
    }

    private void release(Hold own, @Nullable Throwable failure, MonoSink<Void> sink) {
        try {
            own.releaseAfter(failure);
            sink.success();
        } catch (RuntimeException e) {
            loss = e;
            sink.error(e);
        }
    }

    /** Returns what the release threw, as it was: {@code usingWhen} wraps it. */
    Throwable shown(Throwable failure) {
        RuntimeException known = loss;
        return known != null && failure.getCause() == known ? known : failure;
    }

    private Throwable unwrapped(Throwable failure) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        if (cause instanceof LockTimeoutException) {
            LockTimeoutException busy = call.busy();
            busy.initCause(cause);
            return busy;
        }
        return cause == null ? failure : cause;
    }
}
