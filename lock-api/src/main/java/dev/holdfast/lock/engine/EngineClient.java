package dev.holdfast.lock.engine;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One client: the names it contends for now, and the parts that all of them share. */
final class EngineClient implements LockClient, GrantObserver {
    private static final Logger LOG = LoggerFactory.getLogger(EngineClient.class);

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
    private final LostHolds lostHolds = new LostHolds();
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
        this.pulse = new Pulse(runtime.ticker(), runtime.timer(), this::beat);
        this.requests = new Requests(runtime.ticker(), pulse);
        this.events = new Events(runtime.events());
        this.leaks = new Leaks(options.leakTracing());
        this.leftovers = new Leftovers(backend, runtime, requests, requestTimeoutNanos);
        this.renewals = new Renewals(backend, runtime, requests, pulse, events, requestTimeoutNanos);
    }

    /** Begins to listen to the backend; apart from the constructor, so that no half-made object escapes. */
    EngineClient start() {
        checkOptions(options.lockOptions());
        backend.observe(this);
        return this;
    }

    private long beat(long nowNanos) {
        leaks.collect();
        return Math.min(requests.sweep(nowNanos), renewals.beat(ticker().nanos()));
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
    @Nullable
    CompletableFuture<Void> beginClose() {
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
        Holding holding = holdingOf(name, thread);
        if (holding == null) {
            throw Failures.notHeld(name, thread);
        }
        endUninterrupted(() -> holding.unlock(thread));
    }

    /** What a thread holds by {@code lock}, or held when it was lost; null if nothing. */
    @Nullable Possession heldBy(String name, Thread thread) {
        Holding holding = holdingOf(name, thread);
        return holding == null ? null : holding.heldBy(thread);
    }

    /** Where a thread's hold is, if it has one. */
    private @Nullable Holding holdingOf(String name, Thread thread) {
        Contender contender = contenders.get(name);
        // Read after the map: a loss enters its possession here before its contender leaves the map.
        Possession lost = lostHolds.find(thread, name);
        return lost != null ? lost.tenure.holding : contender != null ? contender.holding() : null;
    }

    /** Ends a hold, and waits for the server's answer if it was the last one. */
    void end(Possession possession) {
        endUninterrupted(() -> possession.tenure.holding.end(possession));
    }

    /** An interrupt neither cuts short a release nor is lost by it. */
    private void endUninterrupted(Supplier<@Nullable Release> end) {
        boolean interrupted = Thread.interrupted();
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
    @Nullable
    Contender contender(String name) {
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

    LostHolds lostHolds() {
        return lostHolds;
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
