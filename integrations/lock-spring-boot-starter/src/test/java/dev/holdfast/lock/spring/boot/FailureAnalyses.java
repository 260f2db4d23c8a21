package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Objects;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.io.support.SpringFactoriesLoader;

/** What Boot prints of a start that failed. */
final class FailureAnalyses {
    private FailureAnalyses() {}

    static FailureAnalysis of(Throwable failure) {
        assertThat(failure).as("the start fails").isNotNull();
        // Those that need the failed context's environment cannot be made here.
        FailureAnalysis analysis =
                SpringFactoriesLoader.forDefaultResourceLocation()
                        .load(FailureAnalyzer.class, (type, name, missing) -> {})
                        .stream()
                        .map(analyzer -> analyzer.analyze(failure))
                        .filter(Objects::nonNull)
                        .findFirst()
                        .orElse(null);
        assertThat(analysis).as("analysis of %s", failure).isNotNull();
        return analysis;
    }
}
