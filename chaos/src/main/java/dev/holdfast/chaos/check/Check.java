package dev.holdfast.chaos.check;

/** A rule. Stateless. */
public interface Check {

    /**
     * Names the rule.
     *
     * @return such as {@code S1 overlap}
     */
    String name();

    /**
     * Looks for what breaks the rule.
     *
     * @param evidence what happened
     * @return what was found
     */
    Result check(Evidence evidence);
}
