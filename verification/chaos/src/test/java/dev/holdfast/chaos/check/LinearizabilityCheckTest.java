package dev.holdfast.chaos.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.lock.Demand;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Compares the check with a search through all orders, on small random histories. */
final class LinearizabilityCheckTest {
    private static final int HISTORIES = 20_000;

    @Test
    void agreesWithBruteForce() {
        int good = 0;
        for (int seed = 0; seed < HISTORIES; seed++) {
            List<Operation> history = random(new SplittableRandom(seed));
            boolean expected = bruteForce(history);
            boolean actual = new LinearizabilityCheck()
                    .check(Evidence.of(history))
                    .violations()
                    .isEmpty();
            assertThat(actual).as("seed %d: %s", seed, history).isEqualTo(expected);
            good += expected ? 1 : 0;
        }
        assertThat(good).as("linearizable ones").isBetween(HISTORIES / 20, HISTORIES * 19 / 20);
    }

    @Test
    void twoOwners_areFound() {
        Operation one = Claims.claim(1, 0, 1, 10);
        Operation two = Claims.claim(2, 2, 3, 4);
        assertThat(new LinearizabilityCheck()
                        .check(Evidence.of(List.of(one, two)))
                        .violations())
                .hasSize(1);
    }

    private static List<Operation> random(SplittableRandom random) {
        List<Operation> history = new ArrayList<>();
        int size = random.nextInt(1, 5);
        int workload = random.nextInt(3);
        for (int i = 0; i < size; i++) {
            long invoked = random.nextInt(8);
            long acquired = invoked + random.nextInt(6);
            Operation operation = new Operation(new Operation.Process(i, 0), 0, 1, OpKind.TIMED, invoked);
            operation.acquired = acquired;
            operation.token = random.nextInt(1, 7);
            operation.demand = demand(workload, random);
            if (random.nextInt(4) > 0) {
                operation.confirmed = acquired + random.nextInt(3);
            }
            if (random.nextInt(4) == 0) {
                long call = acquired + random.nextInt(3);
                operation.reentries.add(new Operation.Reentry(call, call + random.nextInt(3), operation.token, call));
            }
            history.add(operation);
        }
        return history;
    }

    private static Demand demand(int workload, SplittableRandom random) {
        return switch (workload) {
            case 0 -> Demand.EXCLUSIVE;
            case 1 -> random.nextBoolean() ? Demand.SHARED : Demand.EXCLUSIVE;
            default -> new Demand.Permits(random.nextInt(1, 3), 3);
        };
    }

    /** What happens to the lock, at an instant between the first and the last. */
    private record Step(Operation operation, What what, long from, long to) {}

    private enum What {
        ACQUIRE,
        OBSERVE,
        EXPIRE
    }

    private record State(List<Operation> owners, List<Operation> before) {
        /** Above all that it excludes, and not the same as any. */
        boolean isAbove(Operation operation) {
            return before.stream()
                    .allMatch(earlier -> operation.demand == Demand.SHARED && earlier.demand == Demand.SHARED
                            ? operation.token != earlier.token
                            : operation.token > earlier.token);
        }

        boolean hasRoomFor(Operation operation) {
            int permits = 0;
            for (Operation owner : owners) {
                if (!owner.demand.leavesRoomFor(operation.demand)) {
                    return false;
                }
                permits += owner.demand instanceof Demand.Permits held ? held.permits() : 0;
            }
            return !(operation.demand instanceof Demand.Permits asked) || permits + asked.permits() <= asked.limit();
        }

        State with(Operation operation) {
            return new State(
                    Stream.concat(owners.stream(), Stream.of(operation)).toList(),
                    Stream.concat(before.stream(), Stream.of(operation)).toList());
        }

        State without(Operation operation) {
            return new State(owners.stream().filter(owner -> owner != operation).toList(), before);
        }
    }

    private static boolean bruteForce(List<Operation> history) {
        List<Step> steps = new ArrayList<>();
        for (Operation operation : history) {
            steps.add(new Step(operation, What.ACQUIRE, operation.invoked, operation.acquired));
            long end = operation.acquired;
            if (operation.claims()) {
                steps.add(new Step(operation, What.OBSERVE, operation.confirmed, operation.confirmed));
            }
            for (Operation.Reentry inner : operation.reentries) {
                steps.add(new Step(operation, What.OBSERVE, inner.call(), inner.returned()));
            }
            steps.add(new Step(operation, What.EXPIRE, Long.MIN_VALUE, Long.MAX_VALUE));
        }
        return search(steps, new State(List.of(), List.of()), Long.MIN_VALUE);
    }

    /** Tries every order; instants are placed as early as the order allows. */
    private static boolean search(List<Step> open, State state, long time) {
        if (open.stream().allMatch(step -> step.what() == What.EXPIRE)) {
            return true;
        }
        for (Step step : open) {
            long at = Math.max(time, step.from());
            State next = at <= step.to() ? apply(step, state) : null;
            if (next != null) {
                List<Step> rest = new ArrayList<>(open);
                rest.remove(step);
                if (search(rest, next, at)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static State apply(Step step, State state) {
        return switch (step.what()) {
            case ACQUIRE ->
                state.hasRoomFor(step.operation()) && state.isAbove(step.operation())
                        ? state.with(step.operation())
                        : null;
            case OBSERVE -> state.owners().contains(step.operation()) ? state : null;
            case EXPIRE -> state.owners().contains(step.operation()) ? state.without(step.operation()) : null;
        };
    }
}
