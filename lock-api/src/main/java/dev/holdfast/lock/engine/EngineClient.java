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
import dev.holdfast.lock.spi.GrantListener;
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
final class EngineClient implements LockClient, GrantListener {
    private static final Logger LOG = LoggerFactory.getLogger(EngineClient.class);

    private static final long DOUBT_PAUSE_NANOS = 50_000_000;
    private static final long DEAD_OWNERS_NANOS = 10_000_000_000L;

    private final LockBackend backend;
    private final BackendInfo info;
    private final ClientOptions options;
    private final EngineRuntime runtime;
    private final Identity identity;
    private final Housekeeper housekeeper;
    private final InFlightRequests requests;
    private final Renewals renewals;
    private final Releaser releaser;
    private final LeakDetector leakDetector;
    private final Events events;
    private final Warnings losses;
    /** Those that have {@link LossesByThread}. */
    private final Set<LockEntry> withLosses = ConcurrentHashMap.newKeySet();

    private volatile long deadOwnersDueNanos;

    private final long requestTimeoutNanos;
    private final long unavailableTimeoutNanos;
    private final long handOffNanos;
    private final ConcurrentMap<String, LockEntry> entries = new ConcurrentHashMap<>();
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
        this.housekeeper = new Housekeeper(runtime.ticker(), runtime.timer(), this::run);
        this.requests = new InFlightRequests(runtime.ticker(), housekeeper);
        this.events = new Events(runtime.events());
        this.leakDetector = new LeakDetector(options.leakTracing());
        this.releaser = new Releaser(backend, runtime, requests, requestTimeoutNanos);
        this.losses = new Warnings(runtime.timer(), this::sumUpLosses);
        this.renewals = new Renewals(backend, runtime, requests, housekeeper, requestTimeoutNanos);
    }

    /** Begins to listen to the backend; apart from the constructor, so that no half-made object escapes. */
    EngineClient start() {
        checkOptions(options.lockOptions());
        backend.setGrantListener(this);
        return this;
    }

    private long run(long nowNanos) {
        leakDetector.collect();
        return Math.min(forgetDeadOwners(nowNanos), Math.min(requests.sweep(nowNanos), renewals.run(ticker().nanos())));
    }

    /** Now and then, however often the pulse beats: there may be many. */
    private long forgetDeadOwners(long nowNanos) {
        if (withLosses.isEmpty()) {
            return Housekeeper.NEVER;
        }
        long left = deadOwnersDueNanos - nowNanos;
        if (left > 0) {
            return left;
        }
        withLosses.forEach(LockEntry::forgetDeadOwners);
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
                            holder.token() * HeldGrant.TOKENS_PER_GRANT));
        } catch (RuntimeException e) {
            throw Failures.of(name, e);
        }
    }

    @Override
    public List<LockUsage> held() {
        List<LockUsage> used = new ArrayList<>();
        for (LockEntry entry : entries.values()) {
            LockUsage usage = entry.usage();
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
        releaser.closing();
        entries.values().forEach(LockEntry::close);
        return requests.whenIdle();
    }

    void endClose(boolean idle) {
        if (!idle) {
            LOG.warn(
                    "lock client of {}: closed before the store had answered everything; what is still there ends"
                            + " with its lease",
                    info.name());
        }
        int unreachable = releaser.unreachable();
        if (unreachable > 0) {
            LOG.warn(
                    "lock client of {}: its connection was closed before it, so {} locks could not be released and end"
                            + " with their leases; close the lock client first",
                    info.name(),
                    unreachable);
        }
        try {
            releaser.close();
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

    /** Brings a waiter to the entry of its name. */
    LockEntry submit(String name, Waiter waiter) {
        while (true) {
            LockEntry entry = entries.get(name);
            if (entry == null) {
                entry = entries.computeIfAbsent(name, key -> new LockEntry(key, this));
            }
            if (entry.submit(waiter)) {
                return entry;
            }
            entries.remove(name, entry);
        }
    }

    /** Ends a {@code lock} hold of the calling thread, and waits for the server's answer if it was the last hold. */
    void unlock(String name) {
        Thread thread = Thread.currentThread();
        HeldLock heldLock = heldLockOf(name);
        if (heldLock == null) {
            throw Failures.notHeld(name, thread);
        }
        endUninterrupted(() -> heldLock.unlock(thread), () -> heldLock.takeInterruptOfLoss(thread));
    }

    /** What a thread holds by {@code lock}, or held when it was lost; null if nothing. */
    @Nullable Hold heldBy(String name, Thread thread) {
        HeldLock heldLock = heldLockOf(name);
        return heldLock == null ? null : heldLock.heldBy(thread);
    }

    /** Where the holds of a name are, lost ones among them, if there are any. */
    private @Nullable HeldLock heldLockOf(String name) {
        LockEntry entry = entries.get(name);
        return entry == null ? null : entry.heldLock();
    }

    /** Ends a hold, and waits for the server's answer if it was the last one. */
    void end(Hold hold) {
        HeldLock heldLock = hold.heldGrant.heldLock;
        endUninterrupted(() -> heldLock.end(hold), () -> heldLock.takeInterruptOfLoss(hold));
    }

    /**
     * Makes sure that what is about to be returned as held is held: a lease may have ended on its way here, or be in doubt,
     * as a re-entered one can be. Then the store is asked, for as long as the caller may wait.
     *
     * @throws LeaseLostException if it has ended; the hold is ended as well
     * @throws LockUnavailableException if the doubt did not end in time; likewise
     */
    void settle(Hold hold, Waiter waiter) {
        HeldGrant heldGrant = hold.heldGrant;
        boolean asked = false;
        while (hold.state == Hold.State.HELD && heldGrant.isDoubted() && heldGrant.remainingNanos(ticker()) > 0) {
            if (asked && (waiter.triesOnce() || waiter.remainingNanos(ticker().nanos()) == 0)) {
                end(hold);
                throw Failures.inDoubt(heldGrant.name(), hold.token);
            }
            if (asked) {
                CompletableFuture<Void> pause = new CompletableFuture<>();
                runtime.timer().after(DOUBT_PAUSE_NANOS, () -> pause.complete(null));
                await(pause);
            }
            await(renewals.renewNow(heldGrant).toCompletableFuture());
            asked = true;
        }
        if (hold.state == Hold.State.LOST || heldGrant.remainingNanos(ticker()) <= 0) {
            end(hold);
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
                throw release.hold().lostException();
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
        LockEntry entry = entries.get(name);
        return entry != null && entry.heldLock().isHeldBy(thread);
    }

    /** The present entry of a name, or null if nobody contends for it. */
    @Nullable LockEntry entry(String name) {
        return entries.get(name);
    }

    void forget(LockEntry entry) {
        entries.remove(entry.name(), entry);
    }

    void requireOpen(String name) {
        if (isClosed()) {
            throw Failures.closed(name);
        }
    }

    // ---- the backend's side

    @Override
    public void suspect(Grant grant, String detail) {
        LockEntry entry = entries.get(grant.acquisition().name());
        if (entry != null) {
            entry.doubt(grant.acquisition().owner(), detail);
        }
    }

    @Override
    public void lost(Grant grant, LossReason reason, String detail) {
        LockEntry entry = entries.get(grant.acquisition().name());
        if (entry != null) {
            entry.lost(grant.acquisition().owner(), reason, detail);
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
        return entries.isEmpty() && requests.isIdle() && renewals.isIdle();
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

    InFlightRequests requests() {
        return requests;
    }

    Renewals renewals() {
        return renewals;
    }

    Releaser releaser() {
        return releaser;
    }

    LeakDetector leakDetector() {
        return leakDetector;
    }

    Events events() {
        return events;
    }

    /** Within a transition: a hold was lost that its thread has not ended yet; whether it still lives is looked at. */
    void noteLosses(LockEntry entry) {
        withLosses.add(entry);
        housekeeper.needWithin(DEAD_OWNERS_NANOS);
    }

    void forgetLosses(LockEntry entry) {
        withLosses.remove(entry);
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
