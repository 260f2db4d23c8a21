package dev.holdfast.lock.spring;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.spring.hold.CurrentHolds;
import java.util.Optional;

/**
 * The lease of the {@link Locked} method, or of the {@link LockTemplate}'s callback, that the calling thread is in: the innermost
 * one. It belongs to the thread that runs the method; other threads, and what runs after the method has returned, get it
 * handed over by the method or not at all. Publishers have {@link ReactiveLease}. Stateless and thread-safe.
 */
public final class CurrentLease {
    private CurrentLease() {}

    /**
     * Returns the lease, for its {@linkplain Lease#token() token} and to {@linkplain Lease#ensure ensure} that it lasts.
     *
     * @return a view of the lease, which refuses to be closed
     * @throws IllegalStateException if the calling thread is in no locked method
     */
    public static Lease require() {
        return find().orElseThrow(() -> new IllegalStateException(
                "this thread is in no method with @Locked and no LockTemplate; call the method through its bean, "
                        + "and on other threads pass them the lease. In a test slice, such as @DataJpaTest, the starter's "
                        + "LockedAutoConfiguration is missing: add @AutoConfigureLocks to the test class"));
    }

    /**
     * Returns the lease, if there is one.
     *
     * @return a view of the lease, which refuses to be closed; empty if the calling thread is in no locked method
     */
    public static Optional<Lease> find() {
        return CurrentHolds.ofThread();
    }
}
