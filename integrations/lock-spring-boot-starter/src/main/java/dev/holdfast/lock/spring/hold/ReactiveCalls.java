package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockTimeoutException;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.util.ClassUtils;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * Publishers that hold a lock while they are subscribed to. Each subscription acquires the lock, without a waiting thread, and
 * releases it when it completes, fails or is cancelled; a cancelled wait leaves nothing behind. The body runs on Reactor's bounded
 * elastic threads, since the client's own threads must not be blocked. Needs Reactor. Stateless and thread-safe.
 */
public final class ReactiveCalls {
    private static final Object KEY = CurrentHolds.class;
    private static final boolean TRANSACTIONS = ClassUtils.isPresent(
            "org.springframework.transaction.reactive.TransactionSynchronizationManager",
            ReactiveCalls.class.getClassLoader());

    private final LockedCalls calls;

    /**
     * Creates it.
     *
     * @param calls whose threads and rules for transactions apply
     */
    public ReactiveCalls(LockedCalls calls) {
        this.calls = calls;
    }

    /**
     * Returns the lease of the innermost locked publisher that a context belongs to.
     *
     * @param context the subscription's
     * @return a view of the lease, which refuses to be closed; empty outside of locked publishers
     */
    public static Optional<Lease> current(ContextView context) {
        CurrentHolds holds = context.getOrDefault(KEY, null);
        return holds == null ? Optional.empty() : Optional.of(holds.view());
    }

    /**
     * Returns a mono that holds the lock.
     *
     * @param <T> what it emits
     * @param call what it wants; asked at each subscription
     * @param body makes the publisher, with the lock held
     * @param skip called before it is empty because another holder has the lock; null to fail with {@link LockTimeoutException}
     * @return the mono; its value comes after the release
     */
    public <T> Mono<T> mono(Supplier<LockCall> call, Body<T> body, @Nullable Consumer<LockCall> skip) {
        return Mono.deferContextual(context -> {
            ReactiveHold hold = hold(call.get(), context);
            CallObserver.Observed observed =
                    calls.observer().begin(hold.call(), context.getOrDefault(CallObserver.KEY, null));
            return Mono.usingWhen(
                            Mono.just(hold),
                            own -> granted(own, skip, observed)
                                    .flatMap(lease -> Mono.from(own.publisher(body, observed))
                                            .contextWrite(outer -> own.write(outer, observed))),
                            own -> own.end(null),
                            ReactiveHold::end,
                            own -> own.end(null))
                    .onErrorMap(hold::shown)
                    .doOnError(observed::failed)
                    .doFinally(signal -> observed.end());
        });
    }

    /**
     * Returns a flux that holds the lock.
     *
     * @param <T> what it emits
     * @param call what it wants; asked at each subscription
     * @param body makes the publisher, with the lock held
     * @param skip called before it is empty because another holder has the lock; null to fail with {@link LockTimeoutException}
     * @return the flux; it completes after the release
     */
    public <T> Flux<T> flux(Supplier<LockCall> call, Body<T> body, @Nullable Consumer<LockCall> skip) {
        return Flux.deferContextual(context -> {
            ReactiveHold hold = hold(call.get(), context);
            CallObserver.Observed observed =
                    calls.observer().begin(hold.call(), context.getOrDefault(CallObserver.KEY, null));
            return Flux.usingWhen(
                            Mono.just(hold),
                            own -> granted(own, skip, observed)
                                    .flatMapMany(lease -> Flux.from(own.publisher(body, observed))
                                            .contextWrite(outer -> own.write(outer, observed))),
                            own -> own.end(null),
                            ReactiveHold::end,
                            own -> own.end(null))
                    .onErrorMap(hold::shown)
                    .doOnError(observed::failed)
                    .doFinally(signal -> observed.end());
        });
    }

    private ReactiveHold hold(LockCall call, ContextView context) {
        return new ReactiveHold(call, calls.releases(), context.getOrDefault(KEY, null));
    }

    private Mono<Lease> granted(ReactiveHold hold, @Nullable Consumer<LockCall> skip, CallObserver.Observed observed) {
        Mono<Lease> lease = (TRANSACTIONS ? ReactiveTransactions.acquire(hold, calls) : hold.acquire())
                .doOnNext(granted -> observed.acquired(granted.token()))
                .doOnError(LockTimeoutException.class, busy -> observed.busy());
        return skip == null
                ? lease
                : lease.onErrorResume(this::isSkipped, busy -> Mono.fromRunnable(() -> skip.accept(hold.call())));
    }

    private boolean isSkipped(Throwable failure) {
        return failure instanceof LockTimeoutException || failure instanceof LockClosedException && calls.isEnding();
    }

    /**
     * Makes a publisher while the lock is held.
     *
     * @param <T> what it emits
     */
    @FunctionalInterface
    public interface Body<T> {

        /**
         * Makes it.
         *
         * @return the publisher
         * @throws Throwable as it likes; it becomes the subscription's error
         */
        Publisher<T> publisher() throws Throwable;
    }
}
