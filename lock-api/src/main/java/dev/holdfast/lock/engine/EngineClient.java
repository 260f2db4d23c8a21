package dev.holdfast.lock.engine;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantObserver;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.ReleaseResult;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One client: the names it contends for now, and the parts that all of them share. */
final class EngineClient implements LockClient, GrantObserver {
    private static final Logger LOG = LoggerFactory.getLogger(EngineClient.class);

    private static final long DOUBT_PAUSE_NANOS = 50_000_000;
    private static final long DEAD_OWNERS_NANOS = 10_000_000_000L;

    private final LockBackend backend;
    private final BackendInfo info;
    private final ClientOptions options;
    private final EngineRuntime runtime;
    private final Identity identity;
    private final Pulse pulse;
    private final Requests requests;
    private final Renewals renewals;
    private final Leftovers leftovers;
    private final Leaks leaks;
    private final Events events;
    private final Warnings losses;
    /** Those that have {@link LostPossessions}. */
    private final Set<Contender> withLosses = ConcurrentHashMap.newKeySet();

    private volatile long deadOwnersDueNanos;

    private final long requestTimeoutNanos;
    private final long unavailableTimeoutNanos;
    private final long handOffNanos;
    private final ConcurrentMap<String, Contender> contenders = new ConcurrentHashMap<>();
    private final AtomicBoolean closed = new AtomicBoolean();

    EngineClient(LockBackend backend, ClientOptions options, EngineRuntime runtime) {
        this.backend = backend;
        this.info = backend.info();
        this.options = options;
        this.runtime = runtime;
        this.identity = Identity.ofThisProcess(options.who());
        this.requestTimeoutNanos = Durations.nanos(options.requestTimeout());
        this.unavailableTimeoutNanos = Durations.nanos(options.unavailableTimeout());
        this.handOffNanos = Durations.nanos(options.handOffTime());
        this.deadOwnersDueNanos = runtime.ticker().nanos();
        this.pulse = new Pulse(runtime.ticker(), runtime.timer(), this::beat);
        this.requests = new Requests(runtime.ticker(), pulse);
        this.events = new Events(runtime.events());
        this.leaks = new Leaks(options.leakTracing());
        this.leftovers = new Leftovers(backend, runtime, requests, requestTimeoutNanos);
        this.losses = new Warnings(runtime.timer(), this::sumUpLosses);
        this.renewals = new Renewals(backend, runtime, requests, pulse, requestTimeoutNanos);
    }

    /** Begins to listen to the backend; apart from the constructor, so that no half-made object escapes. */
    EngineClient start() {
        checkOptions(options.lockOptions());
        backend.observe(this);
        return this;
    }

    private long beat(long nowNanos) {
        leaks.collect();
        return Math.min(
                forgetDeadOwners(nowNanos), Math.min(requests.sweep(nowNanos), renewals.beat(ticker().nanos())));
    }

    /** Now and then, however often the pulse beats: there may be many. */
    private long forgetDeadOwners(long nowNanos) {
        if (withLosses.isEmpty()) {
            return Pulse.NEVER;
        }
        long left = deadOwnersDueNanos - nowNanos;
        if (left > 0) {
            return left;
        }
        withLosses.forEach(Contender::forgetDeadOwners);
        deadOwnersDueNanos = nowNanos + DEAD_OWNERS_NANOS;
        return DEAD_OWNERS_NANOS;
    }

    // ---- the user's side

    @Override
    public DistributedLock lock(String name) {
        return lock(name, options.lockOptions());
    }

    @Override
    public DistributedLock lock(String name, LockOptions lockOptions) {
        LockName.requireValid(name);
        checkOptions(Objects.requireNonNull(lockOptions, "options must not be null"));
        return new EngineLock(this, name, lockOptions);
    }

    private void checkOptions(LockOptions lockOptions) {
        if (lockOptions.fair() && !info.fifo()) {
            throw new IllegalArgumentException("fair(true) asks for an order between processes, and " + info.name()
                    + " has none; leave it out, or use a store whose waiters queue (etcd, ZooKeeper, Redis with"
                    + " notifications)");
        }
        if (lockOptions.lease().toMillis() < info.minLeaseMillis()) {
            throw new IllegalArgumentException(
                    "a lease of " + lockOptions.lease().toMillis() + " ms is shorter than " + info.name()
                            + " can keep; ask for at least " + info.minLeaseMillis() + " ms");
        }
    }

    @Override
    public Optional<HolderInfo> holder(String name) {
        LockName.requireValid(name);
        requireOpen(name);
        CompletableFuture<Optional<HolderInfo>> answer = Failures.call(
                        () -> backend.holder(name, Durations.ceilMillis(requestTimeoutNanos)))
                .toCompletableFuture();
        if (!await(answer)) {
            throw Failures.stalled(name, requestTimeoutNanos);
        }
        try {
            return answer.join()
                    .map(holder -> new HolderInfo(
                            holder.who(),
                            holder.host(),
                            holder.pid(),
                            holder.since(),
                            holder.token() * Tenure.TOKENS_PER_GRANT));
        } catch (RuntimeException e) {
            throw Failures.of(name, e);
        }
    }

    @Override
    public List<LockUsage> held() {
        List<LockUsage> used = new ArrayList<>();
        for (Contender contender : contenders.values()) {
            LockUsage usage = contender.usage();
            if (usage != null) {
                used.add(usage);
            }
        }
        return List.copyOf(used);
    }

    /** When something was by the wall clock, for people to read. */
    Instant wallTimeOf(long nanos) {
        return Instant.ofEpochMilli(ticker().wallMillis()).minusNanos(ticker().nanos() - nanos);
    }

    @Override
    public void addListener(LockListener listener) {
        events.add(Objects.requireNonNull(listener, "listener"));
    }

    @Override
    public void removeListener(LockListener listener) {
        events.remove(listener);
    }

    @Override
    public void close() {
        CompletableFuture<Void> idle = beginClose();
        if (idle == null) {
            return;
        }
        boolean interrupted = Thread.interrupted();
        try {
            await(idle);
            endClose(idle.isDone());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Fails the waiters and releases what is held; completes when the store has answered everything. Null if closed already. */
    @Nullable CompletableFuture<Void> beginClose() {
        if (!closed.compareAndSet(false, true)) {
            return null;
        }
        leftovers.closing();
        contenders.values().forEach(Contender::close);
        return requests.whenIdle();
    }

    void endClose(boolean idle) {
        if (!idle) {
            LOG.warn(
                    "lock client of {}: closed before the store had answered everything; what is still there ends"
                            + " with its lease",
                    info.name());
        }
        int unreachable = leftovers.unreachable();
        if (unreachable > 0) {
            LOG.warn(
                    "lock client of {}: its connection was closed before it, so {} locks could not be released and end"
                            + " with their leases; close the lock client first",
                    info.name(),
                    unreachable);
        }
        try {
            leftovers.close();
            losses.sumUp();
            backend.close();
        } catch (RuntimeException e) {
            LOG.warn("lock client of {}: closing the backend failed", info.name(), e);
        } finally {
            runtime.shutdown().run();
        }
    }

    @Override
    public String toString() {
        return "LockClient[" + info.name() + (isClosed() ? ", closed" : "") + "]";
    }

    // ---- the lock's side

    /** Brings a waiter to the contender of its name. */
    Contender submit(String name, Waiter waiter) {
        while (true) {
            Contender contender = contenders.get(name);
            if (contender == null) {
                contender = contenders.computeIfAbsent(name, key -> new Contender(key, this));
            }
            if (contender.submit(waiter)) {
                return contender;
            }
            contenders.remove(name, contender);
        }
    }

    /** Ends a {@code lock} hold of the calling thread, and waits for the server's answer if it was the last hold. */
    void unlock(String name) {
        Thread thread = Thread.currentThread();
        Holding holding = holdingOf(name);
        if (holding == null) {
            throw Failures.notHeld(name, thread);
        }
        endUninterrupted(() -> holding.unlock(thread), () -> holding.takeInterruptOfLoss(thread));
    }

    /** What a thread holds by {@code lock}, or held when it was lost; null if nothing. */
    @Nullable Possession heldBy(String name, Thread thread) {
        Holding holding = holdingOf(name);
        return holding == null ? null : holding.heldBy(thread);
    }

    /** Where the holds of a name are, lost ones among them, if there are any. */
    private @Nullable Holding holdingOf(String name) {
        Contender contender = contenders.get(name);
        return contender == null ? null : contender.holding();
    }

    /** Ends a hold, and waits for the server's answer if it was the last one. */
    void end(Possession possession) {
        Holding holding = possession.tenure.holding;
        endUninterrupted(() -> holding.end(possession), () -> holding.takeInterruptOfLoss(possession));
    }

    /**
     * Makes sure that what is about to be returned as held is held: a lease may have ended on its way here, or be in doubt,
     * as a re-entered one can be. Then the store is asked, for as long as the caller may wait.
     *
     * @throws LeaseLostException if it has ended; the hold is ended as well
     * @throws LockUnavailableException if the doubt did not end in time; likewise
     */
    void settle(Possession possession, Waiter waiter) {
        Tenure tenure = possession.tenure;
        boolean asked = false;
        while (possession.state == Possession.State.HELD && tenure.isDoubted() && tenure.remainingNanos(ticker()) > 0) {
            if (asked && (waiter.triesOnce() || waiter.remainingNanos(ticker().nanos()) == 0)) {
                end(possession);
                throw Failures.inDoubt(tenure.name(), possession.token);
            }
            if (asked) {
                CompletableFuture<Void> pause = new CompletableFuture<>();
                runtime.timer().after(DOUBT_PAUSE_NANOS, () -> pause.complete(null));
                await(pause);
            }
            await(renewals.renewNow(tenure).toCompletableFuture());
            asked = true;
        }
        if (possession.state == Possession.State.LOST || tenure.remainingNanos(ticker()) <= 0) {
            end(possession);
        }
    }

    /**
     * An interrupt neither cuts short a release nor is lost by it, unless it was the engine's own, to tell of a loss: once the
     * last hold has ended it must not hit what comes next.
     */
    private void endUninterrupted(Supplier<@Nullable Release> end, BooleanSupplier ofLoss) {
        boolean interrupted = Thread.interrupted() && !ofLoss.getAsBoolean();
        try {
            Release release = end.get();
            if (release != null && await(release.outcome()) && release.outcome().join() == ReleaseResult.NOT_HELD) {
                throw release.possession().lostException();
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Waits for at most the request time-out, keeping the interrupt flag; true if the future has completed. */
    boolean await(CompletableFuture<?> future) {
        boolean interrupted = false;
        long deadlineNanos = System.nanoTime() + requestTimeoutNanos;
        try {
            while (!future.isDone()) {
                try {
                    future.get(Math.max(0, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (ExecutionException e) {
                    return true;
                } catch (TimeoutException e) {
                    return false;
                }
            }
            return true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    boolean isHeldBy(String name, Thread thread) {
        Contender contender = contenders.get(name);
        return contender != null && contender.holding().isHeldBy(thread);
    }

    /** The present contender of a name, or null if nobody contends for it. */
    @Nullable Contender contender(String name) {
        return contenders.get(name);
    }

    void forget(Contender contender) {
        contenders.remove(contender.name(), contender);
    }

    void requireOpen(String name) {
        if (isClosed()) {
            throw Failures.closed(name);
        }
    }

    // ---- the backend's side

    @Override
    public void suspect(Grant grant, String detail) {
        Contender contender = contenders.get(grant.acquisition().name());
        if (contender != null) {
            contender.doubt(grant.acquisition().owner(), detail);
        }
    }

    @Override
    public void lost(Grant grant, LossReason reason, String detail) {
        Contender contender = contenders.get(grant.acquisition().name());
        if (contender != null) {
            contender.lost(grant.acquisition().owner(), reason, detail);
        }
    }

    // ---- what is said of losses

    /** One line for the first, and one for all that are lost within some seconds of it. */
    void warnOfLoss(@Nullable String message) {
        if (losses.isFirst(String.valueOf(message))) {
            LOG.warn("{}", message);
        } else {
            LOG.debug("{}", message);
        }
    }

    Warnings losses() {
        return losses;
    }

    private void sumUpLosses(long count, String latest) {
        LOG.warn(
                "lock client of {}: {} more leases were lost within {}; the latest: {}",
                info.name(),
                count,
                Durations.text(Warnings.INTERVAL_NANOS),
                latest);
    }

    // ---- the parts

    /** Nothing is contended for, held or under way. */
    boolean isIdle() {
        return contenders.isEmpty() && requests.isIdle() && renewals.isIdle();
    }

    boolean isClosed() {
        return closed.get();
    }

    LockBackend backend() {
        return backend;
    }

    BackendInfo info() {
        return info;
    }

    ClientOptions options() {
        return options;
    }

    EngineRuntime runtime() {
        return runtime;
    }

    Ticker ticker() {
        return runtime.ticker();
    }

    RandomGenerator random() {
        return runtime.random().get();
    }

    Identity identity() {
        return identity;
    }

    Requests requests() {
        return requests;
    }

    Renewals renewals() {
        return renewals;
    }

    Leftovers leftovers() {
        return leftovers;
    }

    Leaks leaks() {
        return leaks;
    }

    Events events() {
        return events;
    }

    /** Within a transition: a possession was lost that its thread has not ended yet; whether it still lives is looked at. */
    void noteLosses(Contender contender) {
        withLosses.add(contender);
        pulse.needWithin(DEAD_OWNERS_NANOS);
    }

    void forgetLosses(Contender contender) {
        withLosses.remove(contender);
    }

    long requestTimeoutNanos() {
        return requestTimeoutNanos;
    }

    long unavailableTimeoutNanos() {
        return unavailableTimeoutNanos;
    }

    long handOffNanos() {
        return handOffNanos;
    }
}
