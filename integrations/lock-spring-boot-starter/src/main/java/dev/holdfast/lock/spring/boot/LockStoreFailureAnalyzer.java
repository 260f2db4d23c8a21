package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Shows what the store said at start-up, without a stack. */
final class LockStoreFailureAnalyzer extends AbstractFailureAnalyzer<LockException> {
    @Override
    protected @Nullable FailureAnalysis analyze(Throwable rootFailure, LockException cause) {
        if (cause instanceof LockConfigurationException) {
            return new FailureAnalysis(
                    "The lock store refuses the application: " + cause.getMessage(),
                    "Do what the description says. A missing table of a database: run its statement, or set"
                            + " holdfast.jdbc.initialize-schema=always.",
                    cause);
        }
        if (cause instanceof LockUnavailableException) {
            return new FailureAnalysis(
                    "The lock store cannot be reached: " + cause.getMessage(),
                    "Check that it runs and that holdfast.uri, or the address of the application's own connection, leads to"
                            + " it.",
                    cause);
        }
        return null;
    }
}
