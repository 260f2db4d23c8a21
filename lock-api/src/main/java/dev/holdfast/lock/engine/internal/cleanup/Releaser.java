package dev.holdfast.lock.engine.internal.cleanup;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.internal.runtime.Durations;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.engine.internal.runtime.InFlightRequests;
import dev.holdfast.lock.engine.internal.runtime.Warnings;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Removes this client's entries from the server: grants that were released and acquisitions that were given up. The first try is
 * made at once; failed removals join the {@link Backlog}.
 */
public final class Releaser {
    private final BackgroundLog log;
    private final LockBackend backend;
    private final EngineRuntime runtime;
    private final InFlightRequests requests;
    private final long timeoutNanos;
    private final Backlog backlog;
    private final AbandonmentLimit abandonments = new AbandonmentLimit();
    private final Warnings warnings;
    private final AtomicInteger unreachable = new AtomicInteger();
    private volatile boolean closing;

    public Releaser(LockBackend backend, EngineRuntime runtime, InFlightRequests requests, long timeoutNanos) {
        this(BackgroundLog.of(Releaser.class), backend, runtime, requests, timeoutNanos);
    }

    public Releaser(
            BackgroundLog log,
            LockBackend backend,
            EngineRuntime runtime,
            InFlightRequests requests,
            long timeoutNanos) {
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
     * Prepares the release of a grant. It is in flight from now on, so that a client that closes waits for it.
     *
     * @param here whether a blocking backend is called on the thread that runs the result, or on another one
     * @param first receives the outcome of the first try; null if it is unknown
     * @return the task that sends the release
     */
    public Runnable release(Grant grant, boolean here, Consumer<@Nullable ReleaseResult> first) {
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

    /** Prepares the abandonment of an acquisition that was given up. It is in flight from now on. */
    public Runnable abandon(AcquisitionId acquisition, long leaseMillis) {
        return abandon(Removal.Kind.ABANDON, acquisition, leaseMillis);
    }

    /**
     * Prepares the abandonment of an acquisition whose only attempt was refused, if the store could keep it longer than its
     * lease.
     *
     * @return the task that sends it
     */
    public Runnable abandonRefused(AcquisitionId acquisition, long leaseMillis) {
        return backend.info().expiring() ? () -> {} : abandon(Removal.Kind.ABANDON_REFUSED, acquisition, leaseMillis);
    }

    private Runnable abandon(Removal.Kind kind, AcquisitionId acquisition, long leaseMillis) {
        Removal<Void> removal = new Removal<>(
                kind, acquisition, () -> backend.abandon(acquisition, millis()), ignored -> {}, requests, timeoutNanos);
        removal.worthUntilNanos = worthUntilNanos(leaseMillis);
        return () -> abandonments.add(removal.name(), answered -> send(removal, answered));
    }

    private void send(Removal<Void> abandonment, Runnable answered) {
        if (backlog.isDown()) {
            backlog.add(abandonment);
            answered.run();
            return;
        }
        elsewhere(abandonment, failure -> {
            try {
                firstAnswered(abandonment, failure);
            } finally {
                answered.run();
            }
        });
    }

    /** Adds the time-out to the lease, as a request in flight may still begin a lease. */
    private long worthUntilNanos(long leaseMillis) {
        return runtime.ticker().nanos() + Durations.nanosOfMillis(leaseMillis) + timeoutNanos;
    }

    /** Returns why no new acquisition may be sent while too many removals wait; null if there is room. */
    public @Nullable LockException overload(String name) {
        return backlog.isFull()
                ? new LockUnavailableException(
                        "lock '" + LockName.printable(name) + "': no new acquisition is sent while "
                                + backlog.size() + " earlier requests wait for removal, as the store does not answer or"
                                + " refuses; check that it is reachable, and that this client has permission to delete")
                : null;
    }

    public Warnings warnings() {
        return warnings;
    }

    public int waiting() {
        return backlog.size();
    }

    /** Marks the client as closing: removals that cannot be sent are counted from now on, and reported once. */
    public void closing() {
        closing = true;
    }

    /** The number of requests since then that failed because the store's connection was closed first. */
    public int unreachable() {
        return unreachable.get();
    }

    /** Stops all retries; remaining entries end with their leases. */
    public void close() {
        backlog.close();
        warnings.close();
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
            backlog.add(removal, failure); // this ends the removal, so that close() does not wait for it
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
            log.warn("{}: {} is given up; the store's entry ends with its lease", failure.getMessage(), what);
        }
    }

    private void reportClosed(LockException failure) {
        if (closing) {
            unreachable.incrementAndGet();
        } else {
            log.warn("{}; the store's entry ends with its lease", failure.getMessage());
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
