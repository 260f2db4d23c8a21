package dev.holdfast.chaos.check;

import java.util.ArrayList;
import java.util.List;

/** All rules. */
public final class Checks {
    private Checks() {}

    /**
     * Returns what a whole run is judged by.
     *
     * @param fifo whether waiters of different processes are promised to be served in order
     * @return the checks
     */
    public static List<Check> all(boolean fifo) {
        List<Check> checks = new ArrayList<>(
                List.of(new OverlapCheck(), new TokenCheck(), new RegisterCheck(), new LinearizabilityCheck()));
        checks.addAll(List.of(
                new TakeOverCheck(),
                new WakeUpCheck(),
                new FifoCheck(fifo),
                new AnswerCheck(),
                new LossCheck(),
                new LeakCheck()));
        return checks;
    }

    /**
     * Returns those that are quick and need nothing but the clients' histories, which may still grow.
     *
     * @return the checks
     */
    public static List<Check> quick() {
        return List.of(new OverlapCheck(), new TokenCheck());
    }
}
