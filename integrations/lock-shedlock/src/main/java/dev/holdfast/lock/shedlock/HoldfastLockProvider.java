package dev.holdfast.lock.shedlock;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * ShedLock's locks on a {@link LockClient}: one request to ask, one to release, never a wait.
 *
 * <ul>
 *   <li>{@code lockAtMostFor} is {@link LockOptions#maxHold()}. The lease is short and renewed: if the process dies, the lock is free
 *       after the lease ({@link LockOptions#lease()}, 15 s by default) and not after {@code lockAtMostFor}, which only bounds a task
 *       that hangs.
 *   <li>{@code lockAtLeastFor} is {@link LockOptions#minHold()}.
 *   <li>{@link SimpleLock#extend} throws {@link UnsupportedOperationException}. Renewal does what it was for; ShedLock's
 *       {@code KeepAliveLockProvider} is not needed.
 * </ul>
 *
 * <p>Thread-safe. Does not close the client.
 */
public final class HoldfastLockProvider implements LockProvider {
    private static final Logger LOG = LoggerFactory.getLogger(HoldfastLockProvider.class);
    /** ShedLock allows zero, for a lock that is over at once. */
    private static final Duration MIN_HOLD = Duration.ofMillis(1);

    private final LockClient client;
    private final LockOptions options;
    /** So that a lock whose object is dropped stays taken until its {@code lockAtMostFor}, as with other providers. */
    private final Set<Lease> held = ConcurrentHashMap.newKeySet();

    /**
     * Creates a provider whose locks have {@link LockOptions#defaults()}, but for the two times that ShedLock gives.
     *
     * @param client whose locks to use; not closed by the provider
     */
    public HoldfastLockProvider(LockClient client) {
        this(client, LockOptions.defaults());
    }

    /**
     * Creates a provider.
     *
     * @param client whose locks to use; not closed by the provider
     * @param options the lease and how it is renewed; {@code maxHold} and {@code minHold} are replaced by ShedLock's
     */
    public HoldfastLockProvider(LockClient client, LockOptions options) {
        this.client = Objects.requireNonNull(client, "client");
        this.options = Objects.requireNonNull(options, "options");
    }

    /**
     * Asks for a lock once.
     *
     * @param configuration the name and the two times
     * @return the lock; empty if another holder has it, or if {@code lockAtMostFor} was over before this method could return
     * @throws IllegalArgumentException if the store does not accept the name or the lease
     * @throws dev.holdfast.lock.LockUnavailableException if the store does not answer: whether the lock is held is unknown,
     *     and the task must not run
     * @throws dev.holdfast.lock.LockConfigurationException if the store refuses the request and a retry would not help
     * @throws dev.holdfast.lock.LockClosedException if the client is closed
     */
    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        Duration atMost = configuration.getLockAtMostFor();
        LockOptions ofTask = options.toBuilder()
                .maxHold(atMost.compareTo(MIN_HOLD) < 0 ? MIN_HOLD : atMost)
                .minHold(configuration.getLockAtLeastFor())
                .build();
        try {
            return client.lock(configuration.getName(), ofTask).tryAcquire().map(lease -> hold(configuration, lease));
        } catch (LeaseLostException overAlready) {
            LOG.debug("{}; the task does not run", overAlready.getMessage());
            return Optional.empty();
        }
    }

    private SimpleLock hold(LockConfiguration configuration, Lease lease) {
        held.add(lease);
        lease.lost().thenRun(() -> held.remove(lease));
        return new Held(configuration, lease);
    }

    /** How many leases it keeps from the collector. */
    int held() {
        return held.size();
    }

    /** A lock until it is released; ShedLock's base class refuses a second use. */
    private final class Held extends AbstractSimpleLock {
        private final Lease lease;

        Held(LockConfiguration configuration, Lease lease) {
            super(configuration);
            this.lease = lease;
        }

        /** Unlocks. A loss has been warned of and counted when it happened; the task's own outcome stays what it is. */
        @Override
        protected void doUnlock() {
            held.remove(lease);
            try {
                lease.close();
            } catch (LeaseLostException e) {
                LOG.debug("{}; the task has ended now", e.getMessage());
            }
        }
    }
}
