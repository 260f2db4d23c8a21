package dev.holdfast.chaos.check;

import java.util.List;
import java.util.Map;

/**
 * What a check found.
 *
 * @param check its name
 * @param violations what breaks the rule, in words
 * @param facts what was counted or measured, in a constant order
 * @param cases how often the rule could have been broken
 * @param notJudged why nothing could break the rule, if there was no case of it; empty if there was one
 */
public record Result(String check, List<String> violations, Map<String, Object> facts, long cases, String notJudged) {

    /**
     * Makes the result of a check that had cases if it counted any.
     *
     * @param check its name
     * @param violations what breaks the rule
     * @param facts what was counted or measured
     * @param cases how often the rule could have been broken
     * @param without why, if there was no case
     * @return a result, judged if there was a case or a violation
     */
    static Result of(String check, List<String> violations, Map<String, Object> facts, long cases, String without) {
        return new Result(check, violations, facts, cases, cases > 0 || !violations.isEmpty() ? "" : without);
    }

    /**
     * Tells whether there was a case.
     *
     * @return false if the rule could not have been broken, so that no violation means nothing
     */
    public boolean isJudged() {
        return notJudged.isEmpty();
    }
}
