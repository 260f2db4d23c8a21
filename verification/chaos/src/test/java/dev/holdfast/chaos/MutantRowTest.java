package dev.holdfast.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.mutant.Mutants;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the table of the broken locks says behind each of them. */
final class MutantRowTest {
    private static final String NO_TRACE = "3 faults of the kind NETWORK left no trace";

    private static MutantRuns.Row row(boolean right, int caught, int unproved) {
        String name = right ? Mutants.NONE : Mutants.all().get(0).name();
        return new MutantRuns.Row(
                name,
                5,
                caught,
                List.of(NO_TRACE, NO_TRACE, NO_TRACE, NO_TRACE, NO_TRACE).subList(0, unproved),
                Map.of(),
                20);
    }

    @ParameterizedTest
    @CsvSource({
        "false, 5, 0, true", "false, 4, 0, false", "false, 4, 1, false", "false, 0, 5, false",
        "true, 0, 0, true", "true, 0, 4, true", "true, 0, 5, false", "true, 1, 0, false"
    })
    void brokenLock_isCaughtEachTime_andTheRightOneNever_withAProof(
            boolean right, int caught, int unproved, boolean rightly) {
        assertThat(row(right, caught, unproved).isRightlyJudged()).isEqualTo(rightly);
    }

    @Test
    void remark_saysWhatWasNotJudged_andWhatWasWrong() {
        assertThat(row(false, 5, 0).remark()).isEmpty();
        assertThat(row(true, 0, 2).remark()).isEqualTo("; 2 not judged: " + NO_TRACE);
        assertThat(row(true, 0, 5).remark()).isEqualTo("; 5 not judged: " + NO_TRACE + "  <- NOT JUDGED");
        assertThat(row(true, 1, 0).remark()).isEqualTo("  <- a false alarm");
        assertThat(row(false, 4, 0).remark()).isEqualTo("  <- NOT CAUGHT");
    }
}
