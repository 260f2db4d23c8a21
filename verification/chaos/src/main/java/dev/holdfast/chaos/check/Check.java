package dev.holdfast.chaos.check;

import dev.holdfast.chaos.fault.FaultKind;
import java.util.Optional;

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

    /**
     * Says what has to happen to the client that holds locks, so that there is a case.
     *
     * @return the fault; empty if it takes only time, without faults
     */
    default Optional<FaultKind> provokedBy() {
        return Optional.empty();
    }
}
