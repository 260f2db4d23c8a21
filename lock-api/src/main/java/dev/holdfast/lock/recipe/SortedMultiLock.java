package dev.holdfast.lock.recipe;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.MultiLease;
import dev.holdfast.lock.MultiLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Acquires locks in the order of their names. Names are compared by UTF-16 code units, which is the same in every process. */
final class SortedMultiLock implements MultiLock {
    private final List<DistributedLock> locks;
    private final List<String> names;
    private final LongSupplier nanos;
    private final Consumer<List<Lease>> closer;

    SortedMultiLock(
            LockClient client,
            Collection<String> names,
            @Nullable LockOptions options,
            LongSupplier nanos,
            Consumer<List<Lease>> closer) {
        this.names = List.copyOf(new TreeSet<>(names));
        if (this.names.isEmpty()) {
            throw new IllegalArgumentException("lockAll: no names; give at least one");
        }
        this.locks = this.names.stream()
                .map(name -> options == null ? client.lock(name) : client.lock(name, options))
                .toList();
        this.nanos = nanos;
        this.closer = closer;
    }

    @Override
    public List<String> names() {
        return names;
    }

    @Override
    public MultiLease acquire() throws InterruptedException {
        return all(DistributedLock::acquire);
    }

    @Override
    public MultiLease acquire(Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        return all(lock -> lock.acquire(deadline.leftFor(lock)));
    }

    @Override
    public Optional<MultiLease> tryAcquire() {
        try {
            return Optional.ofNullable(allOrNull(lock -> lock.tryAcquire().orElse(null)));
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    @Override
    public Optional<MultiLease> tryAcquire(Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        return Optional.ofNullable(allOrNull(lock -> deadline.isOverFor(lock)
                ? null
                : lock.tryAcquire(deadline.left()).orElse(null)));
    }

    @Override
    public CompletableFuture<MultiLease> acquireAsync(Duration timeout) {
        Deadline deadline = new Deadline(timeout);
        return new AsyncAcquisition(lock -> lock.acquireAsync(deadline.leftFor(lock))).start();
    }

    @Override
    public CompletableFuture<MultiLease> acquireAsync() {
        return new AsyncAcquisition(DistributedLock::acquireAsync).start();
    }

    /** One lock after the other; each answer sends the next request. */
    private final class AsyncAcquisition {
        private final Function<DistributedLock, CompletableFuture<Lease>> requests;
        private final CompletableFuture<MultiLease> result = new CompletableFuture<>();
        private final List<Lease> acquired = new ArrayList<>(locks.size());
        private volatile @Nullable CompletableFuture<Lease> current;

        AsyncAcquisition(Function<DistributedLock, CompletableFuture<Lease>> requests) {
            this.requests = requests;
        }

        CompletableFuture<MultiLease> start() {
            result.whenComplete((leases, failure) -> {
                CompletableFuture<Lease> pending = current;
                if (pending != null) {
                    pending.cancel(false);
                }
            });
            next();
            return result;
        }

        private void next() {
            try {
                if (acquired.size() == locks.size()) {
                    complete();
                } else {
                    request(locks.get(acquired.size()));
                }
            } catch (RuntimeException | Error e) { // the client is closed, the time is over, a lease is lost, no memory
                fail(e);
            }
        }

        private void request(DistributedLock lock) {
            CompletableFuture<Lease> request = requests.apply(lock);
            current = request;
            if (result.isDone()) {
                request.cancel(false);
            }
            request.whenComplete((lease, failure) -> {
                if (failure != null) {
                    fail(failure);
                } else {
                    acquired.add(lease);
                    next();
                }
            });
        }

        private void complete() {
            MultiLease leases = new LeasesInOrder(names, acquired, closer);
            MultiLease.Loss loss = leases.lost().toCompletableFuture().getNow(null);
            if (loss != null) {
                throw new LeaseLostException(
                        "lock '" + loss.name() + "': lost while the others of " + names + " were waited for",
                        loss.reason(),
                        leases.token(loss.name()),
                        null);
            }
            if (!result.complete(leases)) {
                releaseAll(acquired);
            }
        }

        private void fail(Throwable failure) {
            try {
                releaseAll(acquired);
            } catch (RuntimeException | Error e) {
                if (e != failure) { // the JVM may throw one OutOfMemoryError twice
                    failure.addSuppressed(e);
                }
            } finally {
                result.completeExceptionally(failure);
            }
        }
    }

    private MultiLease all(Attempt attempt) throws InterruptedException {
        return Objects.requireNonNull(allOrNull(attempt));
    }

    private @Nullable MultiLease allOrNull(Attempt attempt) throws InterruptedException {
        List<Lease> acquired = new ArrayList<>(locks.size());
        boolean complete = false;
        try {
            for (DistributedLock lock : locks) {
                Lease lease = attempt.acquire(lock);
                if (lease == null) {
                    return null;
                }
                acquired.add(lease);
            }
            MultiLease leases = new LeasesInOrder(names, acquired, closer);
            if (!leases.isValid()) {
                leases.ensure(Duration.ZERO); // throws if a lease was lost during the wait
            }
            complete = true;
            return leases;
        } finally {
            if (!complete) {
                releaseAll(acquired);
            }
        }
    }

    private void releaseAll(List<Lease> acquired) {
        try {
            closer.accept(acquired);
        } catch (LeaseLostException lost) {
            // The caller does not get the locks anyway.
            return;
        }
    }

    @Override
    public String toString() {
        return "MultiLock" + names;
    }

    /** One way to acquire one lock; returns null if another holder has it. */
    private interface Attempt {
        @Nullable Lease acquire(DistributedLock lock) throws InterruptedException;
    }

    /** The common deadline of all locks. */
    private final class Deadline {
        private final long startNanos = nanos.getAsLong();
        private final Duration timeout;

        Deadline(Duration timeout) {
            if (timeout.isNegative()) {
                throw new IllegalArgumentException(
                        "lockAll" + names + ": timeout must not be negative, got " + timeout);
            }
            this.timeout = timeout;
        }

        /**
         * Whether no time is left for this lock. A store that answers slowly would otherwise take a request time-out for each of the
         * locks. The first lock is requested in any case, and so are all of them if the timeout is zero.
         */
        boolean isOverFor(DistributedLock lock) {
            return lock != locks.get(0) && !timeout.isZero() && left().isZero();
        }

        /** Fails if no time is left for this lock. */
        Duration leftFor(DistributedLock lock) {
            if (isOverFor(lock)) {
                throw new LockTimeoutException("lockAll" + names + ": the time was over before all locks were acquired;"
                        + " wait longer, or ask for fewer of them at once");
            }
            return left();
        }

        Duration left() {
            Duration left = timeout.minusNanos(nanos.getAsLong() - startNanos);
            return left.isNegative() ? Duration.ZERO : left;
        }
    }
}
