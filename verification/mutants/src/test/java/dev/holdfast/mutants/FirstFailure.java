package dev.holdfast.mutants;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.CancellationToken;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherExecutionRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs tests, as {@link KnownMutant} names them, up to the first failure, which is the last line that it prints; ends with 0 if
 * there is none.
 */
final class FirstFailure implements TestExecutionListener {
    private static final String CONTRACT = "dev.holdfast.lock.testkit.LockContract$";

    private final CancellationToken token = CancellationToken.create();
    private final AtomicReference<@Nullable String> failure = new AtomicReference<>();
    private int passed;

    public static void main(String[] tests) {
        LauncherDiscoveryRequest discovery = LauncherDiscoveryRequestBuilder.request()
                .selectors(Arrays.stream(tests).map(FirstFailure::selector).toList())
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

    private static DiscoverySelector selector(String test) {
        String[] parts = test.split("#");
        String[] names = parts[0].split("/");
        Class<?> type = load(names[0]);
        Class<?> group = names.length > 1 ? load(CONTRACT + names[1]) : type;
        if (parts.length == 1) {
            return names.length > 1
                    ? DiscoverySelectors.selectNestedClass(List.of(type), group)
                    : DiscoverySelectors.selectClass(type);
        }
        Method method = method(group, parts[1]);
        return names.length > 1
                ? DiscoverySelectors.selectNestedMethod(List.of(type), group, method)
                : DiscoverySelectors.selectMethod(type, method);
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException("no class '" + name + "'", e);
        }
    }

    private static Method method(Class<?> type, String name) {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Method method : each.getDeclaredMethods()) {
                if (method.getName().equals(name)) {
                    return method;
                }
            }
        }
        throw new IllegalArgumentException("no method '" + name + "' in " + type);
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
