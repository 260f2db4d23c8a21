package dev.holdfast.lock.engine.internal.client;

import dev.holdfast.lock.ClientStatus;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.Election;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.MultiLock;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.engine.internal.queue.EngineContext;
import dev.holdfast.lock.engine.internal.queue.LockEntryRegistry;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.engine.internal.runtime.Housekeeper;
import dev.holdfast.lock.recipe.Recipes;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The client as its user sees it, and its shutdown. */
public final class EngineClient implements LockClient {
    private static final int MAX_LISTED = 1_000;
    private static final long LOG_MILLIS = 100;
    private static final BackgroundLog LOG = BackgroundLog.of(EngineClient.class);

    private final EngineContext engine;
    private final BackendInfo info;
    private final LockEntryRegistry entries;
    private final BlockingCalls calls;
    private final AtomicBoolean closing = new AtomicBoolean();
    private final AtomicBoolean shortLeaseReported = new AtomicBoolean();

    public EngineClient(LockBackend backend, LockClientOptions options, EngineRuntime runtime) {
        this.engine = EngineContext.of(backend, options, runtime, this::run);
        this.info = engine.info();
        this.entries = new LockEntryRegistry(engine);
        this.calls = new BlockingCalls(engine);
    }

    /** Registers with the backend; separate from the constructor, so that a partly constructed object does not escape. */
    public EngineClient start() {
        checkOptions(engine.options().lockOptions());
        engine.backend().setGrantListener(entries);
        return this;
    }

    /** The {@link Housekeeper}'s task: does what is due, and returns the nanoseconds until the next run. */
    private long run(long nowNanos) {
        engine.leakDetector().collect();
        long next =
                Math.min(engine.deadOwners().run(nowNanos), engine.requests().sweep(nowNanos));
        next = Math.min(next, engine.renewals().run(engine.nanos()));
        return Math.min(next, engine.holdEvents().reportAgain());
    }

    public EngineContext engine() {
        return engine;
    }

    public LockEntryRegistry entries() {
        return entries;
    }

    public BlockingCalls calls() {
        return calls;
    }

    @Override
    public DistributedLock lock(String name) {
        return lock(name, engine.options().lockOptions());
    }

    @Override
    public DistributedLock lock(String name, LockOptions lockOptions) {
        return new EngineLock(acquirer(name, lockOptions), false);
    }

    private Acquirer acquirer(String name, LockOptions lockOptions) {
        LockName.requireValid(name);
        checkOptions(Objects.requireNonNull(lockOptions, "options must not be null"));
        return new Acquirer(engine, entries, calls, name, lockOptions);
    }

    @Override
    public MultiLock lockAll(String... names) {
        return Recipes.lockAll(this, List.of(names), null, engine.ticker()::nanos, calls::closeAll);
    }

    @Override
    public MultiLock lockAll(Collection<String> names, LockOptions lockOptions) {
        Objects.requireNonNull(lockOptions, "options must not be null");
        return Recipes.lockAll(this, names, lockOptions, engine.ticker()::nanos, calls::closeAll);
    }

    @Override
    public Election.Builder election(String name) {
        return Recipes.election(this, name, lease -> ((EngineLease) lease).length());
    }

    @Override
    public DistributedReadWriteLock readWriteLock(String name) {
        return readWriteLock(name, engine.options().lockOptions());
    }

    @Override
    public DistributedReadWriteLock readWriteLock(String name, LockOptions lockOptions) {
        Acquirer acquirer = acquirer(name, lockOptions);
        requireDemand(Demand.Kind.SHARED, name, "a read lock");
        return new EngineReadWriteLock(new EngineLock(acquirer, true), new EngineLock(acquirer, false));
    }

    @Override
    public DistributedSemaphore semaphore(String name, int limit) {
        return semaphore(name, limit, engine.options().lockOptions());
    }

    @Override
    public DistributedSemaphore semaphore(String name, int limit, LockOptions lockOptions) {
        Acquirer acquirer = acquirer(name, lockOptions);
        requireDemand(Demand.Kind.PERMITS, name, "a semaphore");
        return new EngineSemaphore(acquirer, limit);
    }

    private void requireDemand(Demand.Kind kind, String name, String asked) {
        if (!info.demands().contains(kind)) {
            boolean known = kind == Demand.Kind.SHARED && !info.whyNotShared().isEmpty();
            throw new LockConfigurationException(
                    "lock '" + LockName.printable(name) + "': " + asked + " is requested, which " + info.name()
                            + " does not support" + (known ? " (" + info.whyNotShared() + ")" : "")
                            + "; use lock(), or another store (a database has it with strategy VERSION)");
        }
    }

    private void checkOptions(LockOptions lockOptions) {
        if (lockOptions.fair() && !info.fifo()) {
            throw new IllegalArgumentException("fair(true) requests an order between processes, which " + info.name()
                    + " does not provide; leave it out, or use a store whose waiters queue (etcd, ZooKeeper, Redis with"
                    + " notifications)");
        }
        if (lockOptions.lease().toMillis() < info.minLeaseMillis()) {
            throw new IllegalArgumentException(
                    "a lease of " + lockOptions.lease().toMillis() + " ms is shorter than " + info.name()
                            + " supports; request at least " + info.minLeaseMillis() + " ms");
        }
        LockClientOptions options = engine.options();
        if (options.requestTimeout().compareTo(lockOptions.lease()) > 0
                && shortLeaseReported.compareAndSet(false, true)) {
            LOG.warn(
                    "lock client of {}: requestTimeout ({} ms) is longer than a lease ({} ms), so that one renewal without an"
                            + " answer costs the lock; set it below a third of the lease",
                    info.name(),
                    options.requestTimeout().toMillis(),
                    lockOptions.lease().toMillis());
        }
    }

    @Override
    public Optional<HolderInfo> holder(String name) {
        return new StoreQueries(engine, calls, entries).holder(name);
    }

    @Override
    public List<HolderInfo> holders(String name) {
        return new StoreQueries(engine, calls, entries).holders(name);
    }

    @Override
    public LockListing list(String prefix, int limit) {
        Objects.requireNonNull(prefix, "prefix must not be null");
        if (limit < 1 || limit > MAX_LISTED) {
            throw new IllegalArgumentException("limit must be from 1 to " + MAX_LISTED + ", got " + limit);
        }
        return new StoreQueries(engine, calls, entries).list(info, prefix, limit);
    }

    @Override
    public List<StoreFinding> examine() {
        return new StoreQueries(engine, calls, entries).examine();
    }

    @Override
    public List<LockUsage> held() {
        return entries.usage();
    }

    @Override
    public ClientStatus status() {
        return new ClientStatus(
                info.name(), engine.releaser().waiting(), engine.events().dropped());
    }

    @Override
    public void addListener(LockListener listener) {
        engine.events().add(Objects.requireNonNull(listener, "listener"));
    }

    @Override
    public void removeListener(LockListener listener) {
        engine.events().remove(listener);
    }

    @Override
    public void close() {
        closeExcept(Set.of());
    }

    @Override
    public void closeExcept(Set<String> running) {
        if (!closing.compareAndSet(false, true)) {
            return;
        }
        boolean interrupted = Thread.interrupted();
        boolean done = false;
        try {
            CompletableFuture<Void> idle = closeEntries(Set.copyOf(running));
            calls.await(idle);
            endClose(idle.isDone());
            BackgroundLog.flush(LOG_MILLIS); // a process that ends now should not lose the last lines
            done = true;
        } finally {
            closing.set(done); // after a failure, for example without memory, it can be repeated
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** As {@link #beginClose(Set)}, with nothing that still runs. */
    public @Nullable CompletableFuture<Void> beginClose() {
        return beginClose(Set.of());
    }

    /**
     * Fails the waiters and releases what is held, but for the locks under which work still runs; the future completes when the
     * store has answered everything. Null if closed already.
     */
    public @Nullable CompletableFuture<Void> beginClose(Set<String> running) {
        return closing.compareAndSet(false, true) ? closeEntries(running) : null;
    }

    private CompletableFuture<Void> closeEntries(Set<String> running) {
        entries.refuseWaiters();
        engine.releaser().closing();
        entries.close(running);
        return engine.requests().whenIdle();
    }

    public void endClose(boolean idle) {
        if (!idle) {
            LOG.warn(
                    "lock client of {}: closed before the store had answered all requests; remaining entries end"
                            + " with their leases",
                    info.name());
        }
        int unreachable = engine.releaser().unreachable();
        if (unreachable > 0) {
            LOG.warn(
                    "lock client of {}: its connection was closed before it, so {} locks could not be released and end"
                            + " with their leases at the latest; close the lock client first",
                    info.name(),
                    unreachable);
        }
        try {
            engine.releaser().close();
            engine.requests().stallAll(); // so that each grant ends with one event
            engine.losses().close();
            engine.backend().close();
        } catch (RuntimeException e) {
            LOG.warn("lock client of {}: closing the backend failed", info.name(), e);
        } finally {
            engine.runtime().shutdown().run();
        }
    }

    @Override
    public String toString() {
        return "LockClient[" + info.name() + (entries.isClosed() ? ", closed" : "") + "]";
    }

    /** Whether nothing is held, waited for or in flight. */
    public boolean isIdle() {
        return entries.isEmpty()
                && engine.requests().isIdle()
                && engine.renewals().isIdle();
    }
}
