package dev.holdfast.lock.testkit;

import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.house.HouseReport;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;

/**
 * Starts and stops the fixture of a {@link LockContract}, makes {@link TestIf} tests exist or not, and puts the fixture's
 * name in front of every failure.
 */
final class ContractExtension
        implements BeforeAllCallback,
                AfterAllCallback,
                TestTemplateInvocationContextProvider,
                TestExecutionExceptionHandler {
    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(LockContract.class);

    @Override
    public void beforeAll(ExtensionContext context) throws Exception {
        if (context.getTestInstance().orElse(null) instanceof LockContract contract) {
            contract.context().start();
            HouseReport.fixture(contract.context().fixture().name());
            context.getStore(NAMESPACE).put(ContractContext.class, contract.context());
        }
    }

    @Override
    public void afterAll(ExtensionContext context) throws Exception {
        if (context.getTestInstance().orElse(null) instanceof LockContract contract) {
            HouseReport.fixture(null);
            contract.context().stop();
        }
    }

    private static ContractContext contract(ExtensionContext context) {
        return Objects.requireNonNull(
                context.getStore(NAMESPACE).get(ContractContext.class, ContractContext.class), "contract not started");
    }

    @Override
    public boolean supportsTestTemplate(ExtensionContext context) {
        return context.getRequiredTestMethod().isAnnotationPresent(TestIf.class);
    }

    @Override
    public boolean mayReturnZeroTestTemplateInvocationContexts(ExtensionContext context) {
        return true;
    }

    @Override
    public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(ExtensionContext context) {
        ContractContext contract = contract(context);
        List<Need> missing = Arrays.stream(context.getRequiredTestMethod()
                        .getAnnotation(TestIf.class)
                        .value())
                .filter(need -> !contract.meets(need))
                .toList();
        if (missing.isEmpty()) {
            return Stream.of(new Invocation(contract.fixture().name()));
        }
        String group = context.getParent().map(ExtensionContext::getDisplayName).orElse("");
        contract.notApplicable(group + " " + context.getDisplayName(), missing);
        return Stream.empty();
    }

    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        String fixture = contract(context).fixture().name();
        AssertionError named = new AssertionError("[" + fixture + "] " + failure.getMessage(), failure);
        named.setStackTrace(failure.getStackTrace());
        throw named;
    }

    private record Invocation(String fixture) implements TestTemplateInvocationContext {
        @Override
        public String getDisplayName(int index) {
            return "on " + fixture;
        }
    }
}
