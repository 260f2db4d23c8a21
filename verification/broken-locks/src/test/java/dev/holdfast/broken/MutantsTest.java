package dev.holdfast.broken;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract can fail: it notices each of the {@link Mutants}, and nothing else. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class MutantsTest {
    private static final int AT_ONCE = 20;
    private static final int RUNS = 5;

    private final Map<Mutant, ContractRun.Outcome> outcomes = new LinkedHashMap<>();
    private ContractRun.Outcome control = new ContractRun.Outcome(0, List.of("not run"));

    @BeforeAll
    void runAll() throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(AT_ONCE);
        try {
            Future<ContractRun.Outcome> controlRun = executor.submit(MutantsTest::controlled);
            Map<Mutant, Future<ContractRun.Outcome>> runs = new LinkedHashMap<>();
            for (Mutant mutant : Mutants.all()) {
                runs.put(mutant, executor.submit(() -> untilNoticed(mutant)));
            }
            for (Map.Entry<Mutant, Future<ContractRun.Outcome>> run : runs.entrySet()) {
                outcomes.put(run.getKey(), run.getValue().get(5, TimeUnit.MINUTES));
            }
            control = controlRun.get(5, TimeUnit.MINUTES);
        } finally {
            executor.shutdownNow();
        }
    }

    /** What is no mutant has leases of half a second, too: in one run of several, the machine does not pause for so long. */
    private static ContractRun.Outcome controlled() {
        ContractRun.Outcome outcome = ContractRun.of(Mutants.CONTROL, allGroups());
        for (int tries = 1; tries < RUNS && !outcome.failures().isEmpty(); tries++) {
            outcome = ContractRun.of(Mutants.CONTROL, allGroups());
        }
        return outcome;
    }

    /** A mutant that has a race does not lose it in every run, least of all on a busy machine. */
    private static ContractRun.Outcome untilNoticed(Mutant mutant) {
        ContractRun.Outcome outcome = ContractRun.of(mutant);
        for (int tries = 1; tries < RUNS && outcome.failures().isEmpty(); tries++) {
            outcome = ContractRun.of(mutant);
        }
        return outcome;
    }

    /** Every group that is to notice a mutant. */
    private static List<String> allGroups() {
        return Mutants.all().stream()
                .flatMap(mutant -> mutant.groups().stream())
                .distinct()
                .sorted()
                .toList();
    }

    static Stream<Mutant> mutants() {
        return Mutants.all().stream();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("mutants")
    @DisplayName("The contract notices")
    void mutant_isKilled(Mutant mutant) {
        ContractRun.Outcome outcome = outcomes.get(mutant);
        assertThat(outcome.failures())
                .as(
                        "tests of %s that fail for the mutant '%s'; %d succeeded",
                        mutant.groups(), mutant.name(), outcome.succeeded())
                .isNotEmpty();
    }

    @Test
    @DisplayName("The contract has nothing against the same lock without a mutation")
    void control_succeeds() {
        assertThat(control.failures()).isEmpty();
        assertThat(control.succeeded()).as("tests").isGreaterThan(80);
    }

    @AfterAll
    void print() {
        System.out.printf("%d mutants, and the test that notices each first:%n", outcomes.size());
        outcomes.forEach((mutant, outcome) -> System.out.printf(
                "  %-58s %s%n",
                mutant.name(),
                outcome.failures().stream()
                        .findFirst()
                        .map(failure -> failure.replaceAll(":.*", ""))
                        .orElse("SURVIVED")));
    }
}
