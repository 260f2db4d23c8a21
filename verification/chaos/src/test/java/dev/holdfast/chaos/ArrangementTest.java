package dev.holdfast.chaos;

import static dev.holdfast.chaos.check.Claims.claim;
import static dev.holdfast.chaos.check.Claims.fault;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.check.Check;
import dev.holdfast.chaos.check.Claims;
import dev.holdfast.chaos.check.Evidence;
import dev.holdfast.chaos.check.FifoCheck;
import dev.holdfast.chaos.check.OverlapCheck;
import dev.holdfast.chaos.check.TakeOverCheck;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is arranged for checks without a case. */
final class ArrangementTest {
    private static final List<Check> CHECKS = List.of(new OverlapCheck(), new TakeOverCheck(), new FifoCheck(false));

    private final List<Operation> operations = new ArrayList<>(List.of(claim(0, OpKind.LOCK, 1, 0, 1, 9_900)));
    private final List<Injection> injections = new ArrayList<>();
    private final List<FaultKind> provoked = new ArrayList<>();

    private Evidence now() {
        return Claims.evidence(operations, injections, List.of());
    }

    @Test
    void aHolderDies_untilSomebodyTakesOver() throws Exception {
        List<String> done = new Arrangement(CHECKS, 3, this::now, (kind, client) -> {
                    provoked.add(kind);
                    if (provoked.size() == 2) { // the first had no waiter
                        injections.add(fault(kind, 0, 10_000, 10_000));
                        operations.add(claim(1, OpKind.LOCK, 2, 9_000, 12_000, 12_500));
                    }
                })
                .run();
        assertThat(provoked).containsExactly(FaultKind.CLIENT_KILL, FaultKind.CLIENT_KILL);
        assertThat(done).hasSize(2).allMatch(what -> what.contains(TakeOverCheck.NAME));
    }

    @Test
    void everythingWasJudged_nothingIsArranged() throws Exception {
        List<String> done = new Arrangement(
                        List.of(new OverlapCheck(), new FifoCheck(false)), 3, this::now, (kind, client) -> {
                            throw new AssertionError("nothing to provoke");
                        })
                .run();
        assertThat(done).isEmpty();
    }

    /** A death among other faults would be no case. */
    @Test
    void duringAFault_itWaits() throws Exception {
        injections.add(fault(FaultKind.NET_CUT, 0, 99_000, 100_000));
        int[] looks = new int[1];
        Arrangement arrangement = new Arrangement(
                CHECKS,
                3,
                () -> {
                    if (++looks[0] == 3) {
                        injections.clear();
                    }
                    return now();
                },
                (kind, client) -> {
                    assertThat(looks[0]).isGreaterThanOrEqualTo(3);
                    provoked.add(kind);
                    injections.add(fault(kind, 0, 10_000, 10_000));
                    operations.add(claim(1, OpKind.LOCK, 2, 9_000, 12_000, 12_500));
                });
        arrangement.run();
        assertThat(provoked).containsExactly(FaultKind.CLIENT_KILL);
    }
}
