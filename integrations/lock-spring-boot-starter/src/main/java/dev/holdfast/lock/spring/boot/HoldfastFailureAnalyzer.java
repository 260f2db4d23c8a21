package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.beans.factory.UnsatisfiedDependencyException;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.util.StringUtils;

/** Shows without a stack what the store said, which property the library refuses, or which clients there are to choose from. */
@Order(Ordered.HIGHEST_PRECEDENCE + 10)
final class HoldfastFailureAnalyzer implements FailureAnalyzer {
    private static final String LOCKED = "@Locked cannot work at ";

    @Override
    public @Nullable FailureAnalysis analyze(Throwable failure) {
        for (Throwable at = failure; at != null; at = at.getCause()) {
            FailureAnalysis analysis = analysisOf(at, failure);
            if (analysis != null) {
                return analysis;
            }
        }
        return null;
    }

    private static @Nullable FailureAnalysis analysisOf(Throwable cause, Throwable failure) {
        if (cause instanceof RefusedConfigurationException refused) {
            return new FailureAnalysis(refused.description(), refused.action(), refused);
        }
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
        if (cause instanceof NoUniqueBeanDefinitionException several && several.getBeanType() == LockClient.class) {
            return new FailureAnalysis(
                    place(failure) + " needs a lock client, and there are several: "
                            + StringUtils.collectionToCommaDelimitedString(several.getBeanNamesFound()) + ".",
                    "Name one where it is injected, with @Qualifier, or in the annotation, as @Locked(client = …); or mark"
                            + " one @Primary.",
                    cause);
        }
        return null;
    }

    private static String place(Throwable failure) {
        String place = "The application";
        for (Throwable at = failure; at != null; at = at.getCause()) {
            String message = String.valueOf(at.getMessage());
            if (message.startsWith(LOCKED)) {
                place = "@Locked at " + message.substring(LOCKED.length(), message.indexOf(": "));
            } else if (at instanceof UnsatisfiedDependencyException dependency) {
                place = "The bean '" + dependency.getBeanName() + "'";
            }
        }
        return place;
    }
}
