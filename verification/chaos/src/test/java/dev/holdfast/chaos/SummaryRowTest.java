package dev.holdfast.chaos;

import static dev.holdfast.chaos.check.Claims.claim;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.check.Check;
import dev.holdfast.chaos.check.Claims;
import dev.holdfast.chaos.check.Evidence;
import dev.holdfast.chaos.check.FifoCheck;
import dev.holdfast.chaos.check.OverlapCheck;
import dev.holdfast.chaos.check.TakeOverCheck;
import dev.holdfast.chaos.fault.Profile;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Workload;
import dev.holdfast.chaos.mutant.Mutants;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The table at the end of {@code --all}. */
final class SummaryRowTest {
    private static final RunPlan PLAN = new RunPlan(
            "redis",
            Duration.ofSeconds(60),
            1,
            Profile.full(2_000),
            Mutants.NONE,
            Path.of("run"),
            "off",
            Profile.ALL,
            Workload.MUTEX);

    private static SummaryRow row(boolean exclusive, List<Check> checks, Operation... operations) {
        Evidence evidence = Claims.evidence(List.of(operations), List.of(), List.of());
        return SummaryRow.of(
                new Verdict(
                        PLAN,
                        "Redis",
                        exclusive,
                        evidence,
                        checks.stream().map(check -> check.check(evidence)).toList(),
                        new long[2],
                        0,
                        List.of()),
                97);
    }

    @Test
    void passed_saysHowManyCasesThereWere() {
        SummaryRow row = row(true, List.of(new OverlapCheck(), new FifoCheck(false)), claim(1, 0, 1, 2));
        assertThat(row.isGood()).isTrue();
        assertThat(SummaryRow.table(List.of(row)))
                .contains("store  workload  result  acquisitions", "redis  mutex     passed  1 ", "97 ", "ok 1", "none")
                .endsWith("1 passed, 0 failed, 0 refused by their store\n");
    }

    @Test
    void aViolation_orACheckWithoutACase_fails() {
        SummaryRow broken = row(true, List.of(new OverlapCheck()), claim(1, 0, 1, 7), claim(2, 0, 6, 9));
        SummaryRow unjudged = row(true, List.of(new TakeOverCheck()), claim(1, 0, 1, 7));
        assertThat(broken.isGood()).isFalse();
        assertThat(unjudged.isGood()).isFalse();
        assertThat(SummaryRow.table(List.of(broken, unjudged)))
                .contains(
                        "BROKEN 1",
                        "NOT JUDGED",
                        "S1 overlap: name 1",
                        "C5 take-over: not judged: 0 clients were killed")
                .endsWith("0 passed, 2 failed, 0 refused by their store\n");
    }

    /** The violation is judged without the times around failovers, and here there was no failover. */
    @Test
    void withoutTheFailover_itFails() {
        SummaryRow row = row(false, List.of(new OverlapCheck()), claim(1, 0, 1, 7), claim(2, 0, 6, 9));
        assertThat(row.checks()).containsValue("(1)");
        assertThat(row.isGood()).isFalse();
        assertThat(row.notes()).contains("failovers aside, 2 violations");
    }

    @Test
    void refusedAndFailedRuns_haveReasons() {
        SummaryRow refused = SummaryRow.refused(PLAN, "it has no shares");
        SummaryRow failed = SummaryRow.failed(PLAN, "no server");
        assertThat(refused.isGood()).isTrue();
        assertThat(failed.isGood()).isFalse();
        assertThat(SummaryRow.table(List.of(refused, failed)))
                .contains("redis, mutex, refused: it has no shares", "redis, mutex, FAILED: no server");
    }
}
