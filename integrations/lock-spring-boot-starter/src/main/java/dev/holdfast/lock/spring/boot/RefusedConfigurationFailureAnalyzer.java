package dev.holdfast.lock.spring.boot;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says which stores there are to choose from, or which property the library refuses, and why. */
final class RefusedConfigurationFailureAnalyzer extends AbstractFailureAnalyzer<RefusedConfigurationException> {
    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, RefusedConfigurationException cause) {
        return new FailureAnalysis(cause.description(), cause.action(), cause);
    }
}
