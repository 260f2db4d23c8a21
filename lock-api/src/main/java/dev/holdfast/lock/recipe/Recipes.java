package dev.holdfast.lock.recipe;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.MultiLock;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Entry point for implementations of {@link LockClient}. */
public final class Recipes {
    private Recipes() {}

    /**
     * Creates a multi-lock of a client's locks.
     *
     * @param client the client that acquires the locks
     * @param names their names
     * @param options the options of the acquisitions; null for the client's own
     * @param nanos a monotonic clock in nanoseconds
     * @return the multi-lock
     * @throws IllegalArgumentException if there are no names, or a name or an option is not acceptable
     */
    public static MultiLock lockAll(
            LockClient client, Collection<String> names, @Nullable LockOptions options, LongSupplier nanos) {
        return lockAll(client, names, options, nanos, LeasesInOrder::closeInTurn);
    }

    /**
     * Creates a multi-lock of a client's locks, for a client that can close leases together.
     *
     * @param client the client that acquires the locks
     * @param names their names
     * @param options the options of the acquisitions; null for the client's own
     * @param nanos a monotonic clock in nanoseconds
     * @param closer closes leases of the client, the last one first, and throws the first failure with the others suppressed
     * @return the multi-lock
     * @throws IllegalArgumentException if there are no names, or a name or an option is not acceptable
     */
    public static MultiLock lockAll(
            LockClient client,
            Collection<String> names,
            @Nullable LockOptions options,
            LongSupplier nanos,
            Consumer<List<Lease>> closer) {
        return new SortedMultiLock(client, names, options, nanos, closer);
    }

    /**
     * Returns a builder for an election that uses a client's lock.
     *
     * @param client the client that acquires the lock
     * @param name the lock's name
     * @return a builder
     * @throws IllegalArgumentException if the name is not acceptable
     */
    public static Election.Builder election(LockClient client, String name) {
        return election(client, name, lease -> Duration.ZERO);
    }

    /**
     * Returns a builder for an election that uses a client's lock, for a client that can tell how long its leases are.
     *
     * @param client the client that acquires the lock
     * @param name the lock's name
     * @param lengths returns how long a lease of the client lasts from a renewal on, as the store last confirmed it, or
     *     zero if that is unknown; a leader stops at the latest when half of that is left
     * @return a builder
     * @throws IllegalArgumentException if the name is not acceptable
     */
    public static Election.Builder election(LockClient client, String name, Function<Lease, Duration> lengths) {
        return new ElectionBuilder(client, name, lengths);
    }
}
