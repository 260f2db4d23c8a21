package dev.holdfast.examples.election;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** The demo, with processes that are really killed. */
class ElectionDemoIT {

    private record Run(int status, String out, String err) {
        List<String> lines() {
            return out.lines().toList();
        }
    }

    @Test
    void leadersThatAreEndedInTurn_areFollowedAndNoTwoLeadAtOnce() {
        Run run = run("--seconds", "1", "--lease-millis", "1000", "--candidates", "3");

        assertThat(run.status()).as(run.out() + run.err()).isZero();
        assertThat(run.out())
                .contains(
                        "gets SIGKILL",
                        "is asked to resign",
                        "take-over after SIGKILL:",
                        "take-over after a resignation:",
                        "#",
                        "X")
                .containsPattern("candidate \\d+ leads, token \\d+, [0-9.]+ m?s later");
        assertThat(run.lines()).allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(100));
        assertThat(run.lines().get(run.lines().size() - 1))
                .matches("two leaders at once: never, in [0-9,]+ claims of \\d+ leaderships");
        if (Pause.isPossible()) {
            assertThat(run.out()).contains("its write is refused").containsPattern("late writes refused: +[1-9]");
        } else {
            assertThat(run.out()).contains("no leader is paused");
        }
    }

    /** Each process has a memory of its own: a store without exclusion, which the demo must detect. */
    @Test
    void storeThatIsNotShared_isFoundOut() {
        Run run = run("--backend", "memory:not-shared", "--candidates", "2");

        assertThat(run.status()).as(run.out()).isEqualTo(1);
        // Which one depends on whether the first leader has claimed once more when the second one is judged.
        assertThat(run.lines().get(run.lines().size() - 1))
                .matches("(TWO LEADERS AT ONCE|A TOKEN THAT DID NOT RISE): candidate .*");
        assertThat(run.err())
                .containsPattern("the run ends early: (TWO LEADERS AT ONCE|A TOKEN THAT DID NOT RISE): candidate ");
    }

    @Test
    void unknownBackend_failsBeforeAnybodyStands() {
        Run run = run("--backend", "nosuch://localhost:1");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).contains("nosuch");
        assertThat(run.out()).doesNotContain("stand");
    }

    @Test
    void wrongArguments_exitWith2() {
        assertThat(run("--seconds", "0").status()).isEqualTo(2);
        assertThat(run("--seconds", "x").status()).isEqualTo(2);
        assertThat(run("--candidates", "1").status()).isEqualTo(2);
        assertThat(run("--lease-millis", "0").status()).isEqualTo(2);
        assertThat(run("--no-such-option").status()).isEqualTo(2);
    }

    private static Run run(String... arguments) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        StringWriter err = new StringWriter();
        int status = new CommandLine(new ElectionDemo(new PrintStream(bytes, true, StandardCharsets.UTF_8)))
                .setErr(new PrintWriter(err, true))
                .execute(arguments);
        return new Run(status, bytes.toString(StandardCharsets.UTF_8), err.toString());
    }
}
