package dev.holdfast.broken;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectNestedClass;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.platform.engine.CancellationToken;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.LauncherExecutionRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherExecutionRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs groups of the contract against a mutant, up to the first failure. */
final class ContractRun implements TestExecutionListener {
    private final CancellationToken token = CancellationToken.create();
    private final Queue<String> failures = new ConcurrentLinkedQueue<>();
    private final AtomicInteger succeeded = new AtomicInteger();

    /**
     * What came out.
     *
     * @param succeeded how many tests succeeded before the first one that failed
     * @param failures the tests that failed, with the first line of why
     */
    record Outcome(int succeeded, List<String> failures) {}

    private ContractRun() {}

    static Outcome of(Mutant mutant) {
        return of(mutant, mutant.groups());
    }

    static Outcome of(Mutant mutant, List<String> groups) {
        MutatedContract.about(mutant);
        List<DiscoverySelector> selectors = new ArrayList<>();
        for (String group : groups) {
            selectors.add(selectNestedClass(
                    List.of(MutatedContract.class.getName()), "dev.holdfast.lock.testkit.LockContract$" + group));
        }
        LauncherDiscoveryRequest discovery =
                LauncherDiscoveryRequestBuilder.request().selectors(selectors).build();
        ContractRun run = new ContractRun();
        LauncherExecutionRequest execution = LauncherExecutionRequestBuilder.request(discovery)
                .listeners(run)
                .cancellationToken(run.token)
                .build();
        LauncherFactory.create().execute(execution);
        return new Outcome(run.succeeded.get(), List.copyOf(run.failures));
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
            if (test.isTest()) {
                succeeded.incrementAndGet();
            }
            return;
        }
        if (result.getStatus() == TestExecutionResult.Status.FAILED) {
            String why = result.getThrowable().map(Throwable::getMessage).orElse("");
            failures.add(test.getLegacyReportingName() + ": " + why.replaceAll("\\s+", " "));
            token.cancel();
        }
    }
}
