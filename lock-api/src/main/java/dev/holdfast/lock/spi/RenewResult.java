package dev.holdfast.lock.spi;

import dev.holdfast.lock.LossReason;
import org.jspecify.annotations.Nullable;

/** The outcome of one renewal. */
public sealed interface RenewResult {

    /**
     * The grant is held for the given time, counted from the call of {@code renew}. A backend that derives this from an older
     * acknowledgement (a session's heartbeat) subtracts that acknowledgement's age.
     *
     * @param leaseMillis the lease from the call on, in milliseconds, positive
     */
    record Renewed(long leaseMillis) implements RenewResult {}

    /**
     * The server reported that the grant has ended.
     *
     * @param reason why
     * @param detail what was observed
     */
    record Lost(LossReason reason, String detail) implements RenewResult {}

    /**
     * No usable answer; the grant may or may not have been renewed.
     *
     * @param detail what was observed
     * @param cause the failure, or null
     */
    record Unknown(String detail, @Nullable Throwable cause) implements RenewResult {}
}
