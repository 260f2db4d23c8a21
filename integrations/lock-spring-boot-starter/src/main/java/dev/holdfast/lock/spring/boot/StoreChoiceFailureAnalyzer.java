package dev.holdfast.lock.spring.boot;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says which stores there are to choose from. */
final class StoreChoiceFailureAnalyzer extends AbstractFailureAnalyzer<StoreChoiceException> {
    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, StoreChoiceException cause) {
        return new FailureAnalysis(cause.getMessage(), cause.action(), cause);
    }
}
