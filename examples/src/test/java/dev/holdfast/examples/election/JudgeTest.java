package dev.holdfast.examples.election;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.examples.election.Verdict.Result;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The judge finds what must not be, and does not judge without evidence. */
final class JudgeTest {
    private static final Term FIRST = new Term(1, 1024, 1_000, 2_000, 5);
    private static final Term SECOND = new Term(2, 2048, 2_001, 3_000, 7);

    @Test
    void leadersInTurn_areGood() {
        assertThat(judge(SECOND, FIRST))
                .isEqualTo(new Verdict(Result.GOOD, "two leaders at once: never, in 12 claims of 2 leaderships"));
    }

    @Test
    void twoClaimsAtOnce_areFound() {
        assertBad("TWO LEADERS AT ONCE", FIRST, new Term(2, 2048, 1_500, 3_000, 1));
        assertBad("TWO LEADERS AT ONCE", FIRST, new Term(2, 2048, 2_000, 3_000, 1));
        assertBad("TWO LEADERS AT ONCE", FIRST, new Term(2, 2048, 1_400, 1_500, 1));
    }

    @Test
    void overlap_isMeasured() {
        assertThat(judge(new Term(1, 1024, 0, 50_000, 9), new Term(2, 2048, 20_000, 90_000, 9))
                        .text())
                .isEqualTo(
                        "TWO LEADERS AT ONCE: candidate 1 with token 1024, then candidate 2 with token 2048, both for"
                                + " 30 ms");
    }

    @Test
    void twoWhoClaimTheSameToken_areFound() {
        assertBad("TWO LEADERS AT ONCE", FIRST, new Term(2, 1024, 1_500, 1_600, 1));
        assertBad("A TOKEN THAT DID NOT RISE", FIRST, new Term(2, 1024, 2_500, 3_000, 1));
    }

    @Test
    void overlapWithALeaderFromLongBefore_isFound() {
        assertBad(
                "TWO LEADERS AT ONCE",
                new Term(1, 1024, 0, 9_000, 2),
                new Term(2, 2048, 1, 2, 1),
                new Term(3, 3072, 8, 9, 1));
    }

    @Test
    void tokenThatFalls_isFound() {
        assertBad("A TOKEN THAT DID NOT RISE", FIRST, new Term(2, 1023, 2_500, 3_000, 1));
        assertBad("A TOKEN THAT DID NOT RISE", FIRST, SECOND, new Term(1, 2000, 3_500, 3_600, 1));
    }

    @Test
    void lateWriteThatWasLetThrough_isBad() {
        Verdict verdict = Judge.judge(List.of(FIRST, SECOND), 1, Optional.empty());
        assertThat(verdict.result()).isEqualTo(Result.BAD);
        assertThat(verdict.text()).contains("LATE WRITE");
    }

    @Test
    void withoutEvidence_isNotJudged() {
        assertThat(judge()).isEqualTo(new Verdict(Result.NOT_JUDGED, "not judged: nobody led"));
        assertThat(judge(FIRST).text()).isEqualTo("not judged: one process led, and nobody followed it");
        assertThat(judge(FIRST, new Term(1, 2048, 3_000, 4_000, 1)).isGood())
                .as("the same one twice")
                .isFalse();
        assertThat(Judge.judge(List.of(FIRST, SECOND), 0, Optional.of("the clock was set")))
                .isEqualTo(new Verdict(Result.NOT_JUDGED, "not judged: the clock was set"));
    }

    @Test
    void claims_ofOneTerm_areAllBetweenFirstAndLast() {
        Term term = new Term(1, 1024, 10, 10, 1).claimed(15).claimed(12);
        assertThat(term).isEqualTo(new Term(1, 1024, 10, 15, 3));
        assertThat(term.overlaps(new Term(2, 2048, 15, 20, 1))).isTrue();
        assertThat(term.overlaps(new Term(2, 2048, 16, 20, 1))).isFalse();
    }

    private static void assertBad(String text, Term... terms) {
        Verdict verdict = judge(terms);
        assertThat(verdict.result()).isEqualTo(Result.BAD);
        assertThat(verdict.text()).startsWith(text);
        assertThat(verdict.isGood()).isFalse();
    }

    private static Verdict judge(Term... terms) {
        return Judge.judge(List.of(terms), 0, Optional.empty());
    }
}
