package dev.holdfast.lock.testkit.mutant;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.CancellationToken;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherExecutionRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs test classes up to the first failure, which is the last line that it prints; ends with 0 if there is none. */
final class FirstFailure implements TestExecutionListener {
    private final CancellationToken token = CancellationToken.create();
    private final AtomicReference<@Nullable String> failure = new AtomicReference<>();
    private int passed;

    public static void main(String[] classes) {
        LauncherDiscoveryRequest discovery = LauncherDiscoveryRequestBuilder.request()
                .selectors(Arrays.stream(classes)
                        .map(DiscoverySelectors::selectClass)
                        .toList())
                .build();
        FirstFailure run = new FirstFailure();
        LauncherFactory.create()
                .execute(LauncherExecutionRequestBuilder.request(discovery)
                        .listeners(run)
                        .cancellationToken(run.token)
                        .build());
        String failed = run.passed == 0 && run.failure.get() == null ? "no test ran" : run.failure.get();
        System.out.println(failed == null ? run.passed + " tests passed" : failed);
        System.exit(failed == null ? 0 : 1); // a broken client may have left threads behind
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (result.getStatus() == TestExecutionResult.Status.FAILED) {
            String why = result.getThrowable().map(Throwable::toString).orElse("");
            String line = test.getLegacyReportingName() + ": " + why.replaceAll("\\s+", " ");
            failure.compareAndSet(null, line.length() > 220 ? line.substring(0, 220) + "…" : line);
            token.cancel();
        } else if (test.isTest() && result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
            passed++;
        }
    }
}
