package dev.holdfast.lock.recipe;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.MultiLock;
import java.util.Collection;
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
        return new SortedMultiLock(client, names, options, nanos);
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
        return new ElectionBuilder(client, name);
    }
}
