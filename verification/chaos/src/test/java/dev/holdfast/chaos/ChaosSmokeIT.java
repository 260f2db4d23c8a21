package dev.holdfast.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.check.ClaimOrderCheck;
import dev.holdfast.chaos.check.LeakCheck;
import dev.holdfast.chaos.check.LinearizabilityCheck;
import dev.holdfast.chaos.check.LossCheck;
import dev.holdfast.chaos.check.OverlapCheck;
import dev.holdfast.chaos.check.RegisterCheck;
import dev.holdfast.chaos.check.Result;
import dev.holdfast.chaos.check.TokenCheck;
import dev.holdfast.chaos.fault.Profile;
import dev.holdfast.chaos.history.Workload;
import dev.holdfast.chaos.mutant.Mutant;
import dev.holdfast.chaos.mutant.Mutants;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Short runs, so that the harness keeps working and a gross mistake of a backend shows. What depends on the speed of the
 * machine (take-over, wake-up, order) is judged by {@code bin/chaos} alone, which runs for minutes.
 */
final class ChaosSmokeIT {
    private static final Set<String> JUDGED = Set.of(
            OverlapCheck.NAME,
            TokenCheck.NAME,
            ClaimOrderCheck.NAME,
            RegisterCheck.NAME,
            LinearizabilityCheck.NAME,
            LossCheck.NAME,
            LeakCheck.NAME);

    @TempDir
    private Path folder;

    @Test
    void backend_keepsItsPromises() throws Exception {
        keepsItsPromises("redis-single", 3);
    }

    @ParameterizedTest
    @CsvSource({"etcd, 2", "postgresql, 5"})
    @Tag("full")
    void others_keepTheirPromises(String backend, long seed) throws Exception {
        keepsItsPromises(backend, seed);
    }

    private void keepsItsPromises(String backend, long seed) throws Exception {
        RunPlan plan = new RunPlan(
                backend,
                Duration.ofSeconds(25),
                seed,
                Profile.full(2_000).sized(3, 4, 8),
                Mutants.NONE,
                folder,
                "error",
                Profile.ALL,
                Workload.MUTEX);
        Verdict verdict = run(plan);
        assertThat(verdict.evidence().history().acquisitions()).as("work").isGreaterThan(30);
        assertThat(verdict.evidence().injections()).as("faults").isNotEmpty();
        for (Result result : verdict.results()) {
            if (JUDGED.contains(result.check())) {
                assertThat(result.violations())
                        .as("%s; to repeat it: %s", result.check(), plan.command())
                        .isEmpty();
            }
        }
    }

    /** Wrong in so plain a way that the speed of the machine does not matter. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "no-op lock",
                "two servers that do not know of each other",
                "token starts again",
                "reader admitted beside a writer",
                "limit ignored by one process"
            })
    void mutant_isCaught(String name) throws Exception {
        Mutant mutant = Mutants.named(name);
        Verdict verdict = run(new RunPlan(
                "memory",
                Duration.ofMinutes(2),
                1,
                mutant.profile(),
                mutant.name(),
                folder,
                "error",
                Profile.ALL,
                mutant.workload()));
        assertThat(verdict.failures()).isNotEmpty();
        assertThat(verdict.good()).isFalse();
    }

    @Test
    void report_isWrittenAndTellsHowToRepeat() throws Exception {
        Mutant right = Mutants.named(Mutants.NONE);
        RunPlan plan = new RunPlan(
                "memory",
                Duration.ofSeconds(5),
                4,
                right.profile(),
                right.name(),
                folder,
                "error",
                Profile.ALL,
                right.workload());
        Verdict verdict = run(plan);
        Report.write(verdict, folder);
        assertThat(folder.resolve("report.json"))
                .content()
                .contains("\"S1 overlap\"", "\"command\": \"bin/chaos --backend memory --seconds 5 --seed 4");
        assertThat(folder.resolve("report.html")).content().contains("<svg", "lock 0", "</html>");
        assertThat(List.of(plan.command().split(" "))).contains("--lease-millis");
    }

    private static Verdict run(RunPlan plan) throws Exception {
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        Verdict verdict = new ChaosRun(plan, out).run();
        ChaosMain.print(verdict, out);
        return verdict;
    }
}
