package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.ReleaseResult;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A release under way.
 *
 * @param hold what was released
 * @param outcome completes with what the server said to the first try, or null if that is not known
 */
record Release(Hold hold, CompletableFuture<@Nullable ReleaseResult> outcome) {}
