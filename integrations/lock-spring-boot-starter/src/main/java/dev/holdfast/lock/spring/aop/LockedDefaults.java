package dev.holdfast.lock.spring.aop;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What annotations mean that do not say. Immutable.
 *
 * @param waitFor how long a call waits for its lock; null for as long as it takes
 */
public record LockedDefaults(@Nullable Duration waitFor) {}
