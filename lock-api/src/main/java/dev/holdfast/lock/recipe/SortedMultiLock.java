package dev.holdfast.lock.recipe;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.MultiLease;
import dev.holdfast.lock.MultiLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Consumer;
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
        return all(lock -> lock.acquire(deadline.left()));
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
        return Optional.ofNullable(
                allOrNull(lock -> lock.tryAcquire(deadline.left()).orElse(null)));
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

        Duration left() {
            Duration left = timeout.minusNanos(nanos.getAsLong() - startNanos);
            return left.isNegative() ? Duration.ZERO : left;
        }
    }
}
