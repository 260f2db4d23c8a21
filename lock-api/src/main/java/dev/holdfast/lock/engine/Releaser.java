package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.ReleaseResult;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes what this client has left on the server: grants that were released and acquisitions that were given up. A first
 * try is made at once; what fails joins the {@link Backlog}.
 */
final class Releaser {
    private final Logger log;
    private final LockBackend backend;
    private final EngineRuntime runtime;
    private final InFlightRequests requests;
    private final long timeoutNanos;
    private final Backlog backlog;
    private final Warnings warnings;
    private final AtomicInteger unreachable = new AtomicInteger();
    private volatile boolean closing;

    Releaser(LockBackend backend, EngineRuntime runtime, InFlightRequests requests, long timeoutNanos) {
        this(LoggerFactory.getLogger(Releaser.class), backend, runtime, requests, timeoutNanos);
    }

    Releaser(Logger log, LockBackend backend, EngineRuntime runtime, InFlightRequests requests, long timeoutNanos) {
        this.log = log;
        this.backend = backend;
        this.runtime = runtime;
        this.requests = requests;
        this.timeoutNanos = timeoutNanos;
        this.backlog = new Backlog(runtime, backend.info().expiring(), this::retry);
        this.warnings = new Warnings(runtime.timer(), this::sumUp);
    }

    private void sumUp(long count, String names, String latest) {
        log.warn(
                "lock client of {}: within {} the store did not confirm {} more releases and abandonments, first those"
                        + " of {}; {} are retried; the latest: {}",
                backend.info().name(),
                Durations.text(Warnings.INTERVAL_NANOS),
                count,
                names,
                backlog.size(),
                latest);
    }

    /**
     * Makes the release of a grant. It counts as under way from now on, so that a client that closes waits for it.
     *
     * @param here whether a blocking backend is called on the thread that runs the result, or on another one
     * @param first told the outcome of the first try: null if it is not known
     * @return to be run
     */
    Runnable release(Grant grant, boolean here, Consumer<@Nullable ReleaseResult> first) {
        Removal<ReleaseResult> removal = new Removal<>(
                Removal.Kind.RELEASE,
                grant.acquisition(),
                () -> backend.release(grant, millis()),
                first,
                requests,
                timeoutNanos);
        removal.worthUntilNanos = worthUntilNanos(grant.leaseMillis());
        Consumer<@Nullable LockException> answered = failure -> firstAnswered(removal, failure);
        return here ? () -> removal.send(answered) : () -> elsewhere(removal, answered);
    }

    /** Makes the end of an acquisition that was given up; counts as under way from now on. */
    Runnable abandon(AcquisitionId acquisition, long leaseMillis) {
        return abandon(Removal.Kind.ABANDON, acquisition, leaseMillis);
    }

    /**
     * Makes the end of an acquisition whose only attempt was refused: if that could leave anything but for its lease.
     *
     * @return to be run
     */
    Runnable abandonRefused(AcquisitionId acquisition, long leaseMillis) {
        return backend.info().expiring() ? () -> {} : abandon(Removal.Kind.ABANDON_REFUSED, acquisition, leaseMillis);
    }

    private Runnable abandon(Removal.Kind kind, AcquisitionId acquisition, long leaseMillis) {
        Removal<Void> removal = new Removal<>(
                kind, acquisition, () -> backend.abandon(acquisition, millis()), ignored -> {}, requests, timeoutNanos);
        removal.worthUntilNanos = worthUntilNanos(leaseMillis);
        return () -> {
            if (backlog.isDead()) {
                backlog.add(removal);
            } else {
                elsewhere(removal, failure -> firstAnswered(removal, failure));
            }
        };
    }

    /** A request that is on its way still may begin a lease. */
    private long worthUntilNanos(long leaseMillis) {
        return runtime.ticker().nanos() + Durations.nanosOfMillis(leaseMillis) + timeoutNanos;
    }

    /** So much is left on a store that fails or refuses to remove it that nothing more is to be asked of it for now: null if not so. */
    @Nullable LockException overload(String name) {
        return backlog.isFull()
                ? new LockUnavailableException(
                        "lock '" + LockName.printable(name) + "': nothing more is asked of the store while "
                                + backlog.size() + " earlier requests are still to be undone, as it does not answer or"
                                + " refuses; check that it is reachable, and that this client may delete")
                : null;
    }

    Warnings warnings() {
        return warnings;
    }

    int waiting() {
        return backlog.size();
    }

    /** The client closes: what cannot be sent any more is counted, and told once. */
    void closing() {
        closing = true;
    }

    /** How many requests could not be sent since then, because the store's connection was closed before. */
    int unreachable() {
        return unreachable.get();
    }

    /** No further retries; what is still there ends with its lease. */
    void close() {
        backlog.close();
        warnings.sumUp();
    }

    private long millis() {
        return Durations.ceilMillis(timeoutNanos);
    }

    private void firstAnswered(Removal<?> removal, @Nullable LockException failure) {
        if (failure == null) {
            return;
        }
        if (failure instanceof LockClosedException) {
            reportClosed(failure);
            backlog.add(removal, failure); // which ends it, so that a client that closes waits no longer
            return;
        }
        boolean again = backlog.add(removal, failure);
        String what = removal.kind.word;
        if (removal.kind == Removal.Kind.ABANDON_REFUSED
                || !warnings.note(removal.name(), failure.getMessage() + ": " + what)) {
            log.debug("{}: {} failed", failure.getMessage(), what);
        } else if (again) {
            log.warn("{}: {} is retried in the background until the store confirms it", failure.getMessage(), what);
        } else {
            log.warn("{}: {} is given up; what is left ends with its lease", failure.getMessage(), what);
        }
    }

    private void reportClosed(LockException failure) {
        if (closing) {
            unreachable.incrementAndGet();
        } else {
            log.warn("{}; what is still there ends with its lease", failure.getMessage());
        }
    }

    private void retry(Removal<?> removal, Consumer<@Nullable LockException> answered) {
        elsewhere(removal, failure -> {
            if (failure != null) {
                log.debug("{}: {} failed again", failure.getMessage(), removal.kind.word);
            }
            answered.accept(failure);
        });
    }

    private void elsewhere(Removal<?> removal, Consumer<@Nullable LockException> answered) {
        if (backend.info().blocking()) {
            removal.send(runtime.io(), answered);
        } else {
            removal.send(answered);
        }
    }
}
