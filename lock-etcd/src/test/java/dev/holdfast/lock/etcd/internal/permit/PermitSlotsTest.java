package dev.holdfast.lock.etcd.internal.permit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.permit.PermitSlots.Change;
import dev.holdfast.lock.spi.DemandLine.Place;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which entries of a queue are settled, and which changes settle the others. */
final class PermitSlotsTest {

    private static Place permits(int permits, int limit, int slot) {
        return new Place(new Demand.Permits(permits, limit), slot);
    }

    private static Place one(int slot) {
        return permits(1, 4, slot);
    }

    private static List<Boolean> settled(Place... places) {
        PermitSlots slots = new PermitSlots(List.of(places));
        return IntStream.range(0, places.length).mapToObj(slots::isSettled).toList();
    }

    private static List<Change> changes(int index, Place... places) {
        PermitSlots slots = new PermitSlots(List.of(places));
        return slots.changesFor(index, slots.line());
    }

    @Test
    void settled_untilTheFirstThatSaysNoSlotOrOneThatIsTaken() {
        assertThat(settled(one(2), one(1), one(3))).containsExactly(true, true, true);
        assertThat(settled(one(2), one(0), one(3))).containsExactly(true, false, false);
        assertThat(settled(one(2), one(1), one(2), one(3))).containsExactly(true, true, false, false);
        assertThat(settled(new Place(Demand.SHARED, 0), one(1))).containsExactly(true, true);
    }

    @Test
    void line_unsettledOnesHoldNothing() {
        PermitSlots slots = new PermitSlots(List.of(one(1), one(1), one(2)));

        assertThat(IntStream.range(0, 3).mapToObj(slots.line()::isHeld)).containsExactly(true, false, false);
        assertThat(IntStream.range(0, 3).mapToObj(slots.line()::hasRoom)).containsExactly(true, true, true);
    }

    @Test
    void changes_areTheLowestFree_forAllInConflictUpToThePlace() {
        assertThat(changes(2, one(2), one(0), one(2))).containsExactly(new Change(1, 1, 1), new Change(2, 3, 0));
        assertThat(changes(1, one(2), one(0), one(2))).containsExactly(new Change(1, 1, 1));
        assertThat(changes(2, one(1), one(1), one(2)))
                .as("what another says is left to it")
                .containsExactly(new Change(1, 3, 0));
        assertThat(changes(1, one(1), one(1), one(2))).as("by any client").containsExactly(new Change(1, 3, 0));
        assertThat(changes(1, one(2), one(1))).isEmpty();
    }

    /** One that has asked with a higher limit, and waits behind, says a slot that one with the lower limit needs. */
    @Test
    void changes_withinTheLowerLimit_evenIfOneBehindSaysThatSlot() {
        assertThat(changes(1, permits(1, 2, 2), permits(1, 2, 0), permits(1, 5, 1)))
                .containsExactly(new Change(1, 1, 1));
    }

    /**
     * The limit was raised while a client ahead was stalled; by the limit of its own demand, there is no slot for it.
     */
    @Test
    void changes_noSlotForOneAheadWithALowerLimit_none() {
        assertThat(changes(2, permits(1, 5, 1), permits(1, 1, 0), permits(1, 5, 2)))
                .isEmpty();
    }
}
