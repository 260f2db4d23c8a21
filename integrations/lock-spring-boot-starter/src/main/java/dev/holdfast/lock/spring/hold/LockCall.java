package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The lock that a call wants. Immutable.
 *
 * @param client whose lock it is
 * @param lock the lock, with its options
 * @param waitFor how long to wait for it; zero asks once, null waits as long as it takes
 * @param caller the caller, for messages
 */
public record LockCall(
        LockClient client, DistributedLock lock, @Nullable Duration waitFor, String caller) {

    /**
     * Returns what to throw if another holder has the lock.
     *
     * @return a new exception
     */
    public LockTimeoutException busy() {
        return new LockTimeoutException(
                this + ": somebody else has the lock" + (waits() ? ", also after " + waitFor : "")
                        + "; the call did not run, wait longer or skip it (onBusy = SKIP)");
    }

    boolean waits() {
        return waitFor == null || !waitFor.isZero();
    }

    @Override
    public String toString() {
        return "lock '" + LockName.printable(lock.name()) + "' for " + caller;
    }
}
