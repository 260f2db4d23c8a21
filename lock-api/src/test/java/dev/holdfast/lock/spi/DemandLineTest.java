package dev.holdfast.lock.spi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.DemandLine.Place;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class DemandLineTest {
    private static final Place WRITER = new Place(Demand.EXCLUSIVE, 0);
    private static final Place READER = new Place(Demand.SHARED, 0);

    private static Place permits(int permits, int limit, int slot) {
        return new Place(new Demand.Permits(permits, limit), slot);
    }

    private static List<Boolean> room(Place... places) {
        DemandLine line = new DemandLine(List.of(places));
        return IntStream.range(0, places.length).mapToObj(line::hasRoom).toList();
    }

    @Test
    void hasRoom_lockAndShares_asFarAsNobodyElseIsAhead() {
        assertThat(room(WRITER, WRITER, READER)).containsExactly(true, false, false);
        assertThat(room(READER, READER, WRITER, READER)).containsExactly(true, true, false, false);
        assertThat(room(READER, permits(1, 3, 0), permits(1, 3, 0))).containsExactly(true, false, false);
        assertThat(room(permits(1, 3, 1), READER, WRITER, permits(1, 3, 0))).containsExactly(true, false, false, false);
    }

    @Test
    void hasRoom_permits_asFarAsTheSumIsWithinTheLimit() {
        assertThat(room(permits(3, 5, 1), permits(4, 5, 0), permits(1, 5, 0))).containsExactly(true, false, false);
        assertThat(room(permits(2, 5, 1), permits(2, 5, 0), permits(1, 5, 0))).containsExactly(true, true, true);
    }

    /** After the limit was lowered, grants are kept, and a request with the lower limit waits. */
    @Test
    void isHeld_limitLowered_byTheLimitThatItWasAskedWith() {
        DemandLine line = new DemandLine(List.of(permits(2, 5, 1), permits(2, 5, 2), permits(1, 3, 0)));

        assertThat(line.isHeld(1)).isTrue();
        assertThat(line.hasRoom(2)).isFalse();
    }

    /** The limit was raised and lowered again while the first of the two was paused. */
    @Test
    void hasRoom_heldBehindByAnotherLimit_counts() {
        assertThat(room(permits(2, 3, 0), permits(3, 5, 1))).containsExactly(false, true);
        assertThat(room(permits(3, 3, 0), permits(1, 5, 1))).containsExactly(false, true);
    }

    @Test
    void isHeld_permitsNeedASlot_othersNone() {
        assertThat(new DemandLine(List.of(permits(1, 3, 0))).isHeld(0)).isFalse();
        assertThat(new DemandLine(List.of(permits(1, 3, 1))).isHeld(0)).isTrue();
        assertThat(new DemandLine(List.of(READER)).isHeld(0)).isTrue();
        assertThat(new DemandLine(List.of(WRITER)).isHeld(0)).isTrue();
    }
}
