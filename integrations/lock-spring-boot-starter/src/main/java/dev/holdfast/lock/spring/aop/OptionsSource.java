package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What an annotation says about the lock's options; null and empty where it says nothing. Immutable.
 *
 * @param id of named options
 * @param lease as the annotation's
 * @param maxHold as the annotation's
 * @param minHold as the annotation's
 */
record OptionsSource(
        String id,
        @Nullable Duration lease,
        @Nullable Duration maxHold,
        @Nullable Duration minHold) {

    /** Returns whether the client's own options are meant. */
    boolean isEmpty() {
        return id.isEmpty() && lease == null && maxHold == null && minHold == null;
    }

    /** Returns the options, from those that are meant where the annotation says nothing. */
    LockOptions options(LockOptions from) {
        LockOptions.Builder builder = from.toBuilder();
        if (lease != null) {
            builder.lease(lease);
        }
        if (maxHold != null) {
            builder.maxHold(maxHold);
        }
        if (minHold != null) {
            builder.minHold(minHold);
        }
        return builder.build();
    }
}
