package dev.holdfast.lock.spring.boot;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says which property the library refuses, and why. */
final class InvalidPropertyFailureAnalyzer extends AbstractFailureAnalyzer<InvalidPropertyException> {
    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, InvalidPropertyException cause) {
        return new FailureAnalysis(
                "The value of " + cause.property() + " is not acceptable: " + cause.reason() + ".",
                "Correct " + cause.property() + ".",
                cause);
    }
}
