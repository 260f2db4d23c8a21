package dev.holdfast.examples.election;

import dev.holdfast.examples.election.Verdict.Result;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Judges what the leaders claimed, and nothing else. */
final class Judge {

    private Judge() {}

    /**
     * Judges a run.
     *
     * @param terms the claimed terms, in any order
     * @param lateWrites how many writes with the token of a former leader the resource has let through
     * @param clock the fault of the clock that all claims use; empty if it has none
     * @return the verdict
     */
    static Verdict judge(List<Term> terms, int lateWrites, Optional<String> clock) {
        if (clock.isPresent()) {
            return new Verdict(Result.NOT_JUDGED, "not judged: " + clock.get());
        }
        List<Term> inTime = terms.stream()
                .sorted(Comparator.comparingLong(Term::firstMicros))
                .toList();
        // A term that overlaps any later term overlaps the next one, which begins no later.
        for (int i = 1; i < inTime.size(); i++) {
            if (inTime.get(i - 1).overlaps(inTime.get(i))) {
                return bad("TWO LEADERS AT ONCE", inTime.get(i - 1), inTime.get(i));
            }
        }
        for (int i = 1; i < inTime.size(); i++) {
            if (inTime.get(i).token() <= inTime.get(i - 1).token()) {
                return bad("A TOKEN THAT DID NOT RISE", inTime.get(i - 1), inTime.get(i));
            }
        }
        if (lateWrites > 0) {
            return new Verdict(Result.BAD, "A LATE WRITE WAS LET THROUGH: " + lateWrites);
        }
        long leaders = terms.stream().map(Term::candidate).distinct().count();
        if (leaders < 2) {
            return new Verdict(
                    Result.NOT_JUDGED,
                    "not judged: " + (leaders == 0 ? "nobody led" : "one process led, and nobody followed it"));
        }
        int claims = terms.stream().mapToInt(Term::claims).sum();
        return new Verdict(
                Result.GOOD,
                String.format(
                        Locale.ROOT,
                        "two leaders at once: never, in %,d claims of %d leaderships",
                        claims,
                        terms.size()));
    }

    private static Verdict bad(String what, Term first, Term second) {
        long micros = Math.min(first.lastMicros(), second.lastMicros()) - second.firstMicros();
        return new Verdict(
                Result.BAD,
                String.format(
                        Locale.ROOT,
                        "%s: candidate %d with token %d, then candidate %d with token %d%s",
                        what,
                        first.candidate(),
                        first.token(),
                        second.candidate(),
                        second.token(),
                        micros < 0 ? "" : ", both for " + TakeOvers.seconds(micros)));
    }
}
