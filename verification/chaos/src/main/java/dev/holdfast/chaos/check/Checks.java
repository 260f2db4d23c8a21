package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Workload;
import java.util.List;
import java.util.stream.Stream;

/** All rules. */
public final class Checks {
    private Checks() {}

    /**
     * Returns what a whole run is judged by.
     *
     * @param workload what the clients did
     * @param fifo whether waiters of different processes are promised to be served in order
     * @return the checks
     */
    public static List<Check> all(Workload workload, boolean fifo) {
        return switch (workload) {
            case MUTEX -> locks(fifo);
            case RW, SEMAPHORE ->
                Stream.concat(locks(fifo).stream(), Stream.of(new StarvationCheck()))
                        .toList();
            case ELECTION -> elections();
            case MULTI -> severalLocks();
        };
    }

    private static List<Check> locks(boolean fifo) {
        return List.of(
                new OverlapCheck(),
                new TokenCheck(),
                new ClaimOrderCheck(),
                new RegisterCheck(),
                new LinearizabilityCheck(),
                new TakeOverCheck(),
                new WakeUpCheck(),
                new FifoCheck(fifo),
                new AnswerCheck(),
                new LossCheck(),
                new UnexplainedLossCheck(),
                new SpinningCheck(),
                new LeakCheck());
    }

    private static List<Check> elections() {
        return List.of(
                new OverlapCheck(),
                new TokenCheck(),
                new ClaimOrderCheck(),
                new RegisterCheck(),
                new LinearizabilityCheck(),
                new ElectedAgainCheck(),
                new CallbackCheck(),
                new LossNotificationCheck(),
                new LossCheck(),
                new UnexplainedLossCheck(),
                new SpinningCheck(),
                new LeakCheck());
    }

    private static List<Check> severalLocks() {
        return List.of(
                new OverlapCheck(),
                new TokenCheck(),
                new ClaimOrderCheck(),
                new RegisterCheck(),
                new LinearizabilityCheck(),
                new AllOrNothingCheck(),
                new ProgressCheck(),
                new AnswerCheck(),
                new LossCheck(),
                new UnexplainedLossCheck(),
                new SpinningCheck(),
                new LeakCheck());
    }

    /**
     * Returns those that are quick and need nothing but the clients' histories, which may still grow.
     *
     * @param workload what the clients do
     * @return the checks
     */
    public static List<Check> quick(Workload workload) {
        return switch (workload) {
            case MUTEX, RW, SEMAPHORE, MULTI -> List.of(new OverlapCheck(), new TokenCheck(), new ClaimOrderCheck());
            case ELECTION -> List.of(new OverlapCheck(), new TokenCheck(), new ClaimOrderCheck(), new CallbackCheck());
        };
    }

    /**
     * Returns those whose rule a store may break over a failover, if it says so.
     *
     * @param workload what the clients did
     * @return the checks
     */
    public static List<Check> exclusion(Workload workload) {
        return switch (workload) {
            case MUTEX, RW, SEMAPHORE, MULTI ->
                List.of(new OverlapCheck(), new ClaimOrderCheck(), new LinearizabilityCheck());
            case ELECTION ->
                List.of(
                        new OverlapCheck(),
                        new ClaimOrderCheck(),
                        new LinearizabilityCheck(),
                        new LossNotificationCheck());
        };
    }
}
