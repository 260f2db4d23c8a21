package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.spring.SkippedCallEvent;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What all annotated methods have in common. Immutable.
 *
 * @param waitFor how long a call waits for its lock; null for as long as it takes
 * @param onSkip called after a call was skipped
 */
public record LockedDefaults(@Nullable Duration waitFor, Consumer<SkippedCallEvent> onSkip) {}
