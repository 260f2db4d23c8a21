package dev.holdfast.lock.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Starts observations of guarded calls. The Spring Boot starter uses it around {@code @Locked} and the template; use it
 * yourself around other code:
 *
 * <pre>{@code
 * LockObservation observation = observations.start("orders/4711");
 * try (Observation.Scope scope = observation.openScope(); Lease lease = lock.acquire()) {
 *     observation.acquired(lease.token());
 *     …
 * } catch (RuntimeException e) {
 *     observation.error(e);
 *     throw e;
 * } finally {
 *     observation.stop();
 * }
 * }</pre>
 *
 * <p>Thread-safe.
 */
public final class LockObservations {
    private static final int MAX_LOCK_TAGS = 100;
    private static final LockObservationConvention CONVENTION = new LockObservationConvention();

    private final ObservationRegistry registry;
    private final @Nullable LockObservationConvention convention;
    private final LockTags lockTags;

    /**
     * Creates it with the usual names: the key {@code lock} is the lock's name up to the first slash and has at most 100 values.
     *
     * @param registry where observations are started
     */
    public LockObservations(ObservationRegistry registry) {
        this(registry, MAX_LOCK_TAGS);
    }

    /**
     * Creates it with the usual names: the key {@code lock} is the lock's name up to the first slash.
     *
     * @param registry where observations are started
     * @param maxLockTags how many values the key {@code lock} has in addition to {@code other}; zero or more
     */
    public LockObservations(ObservationRegistry registry, int maxLockTags) {
        this(registry, null, LockTags::prefix, maxLockTags);
    }

    /**
     * Creates it.
     *
     * @param registry where observations are started
     * @param convention the names, or null for the registry's own or the usual ones
     * @param lockTag makes the key {@code lock} of a lock's name, see {@link LockMetrics.Builder#lockTag}
     * @param maxLockTags how many values that has in addition to {@code other}; zero or more
     */
    public LockObservations(
            ObservationRegistry registry,
            @Nullable LockObservationConvention convention,
            Function<String, @Nullable String> lockTag,
            int maxLockTags) {
        this.registry = Objects.requireNonNull(registry, "registry");
        this.convention = convention;
        this.lockTags = new LockTags(lockTag, maxLockTags);
    }

    /**
     * Starts the observation of a call that is about to ask for a lock.
     *
     * @param name the lock's name
     * @return the observation, to be stopped; does nothing if there are no observation handlers
     */
    public LockObservation start(String name) {
        LockObservationContext context = new LockObservationContext(name, lockTags.of(name));
        return new LockObservation(Observation.start(convention, CONVENTION, () -> context, registry), context);
    }
}
