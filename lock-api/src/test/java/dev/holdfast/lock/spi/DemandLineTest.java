package dev.holdfast.lock.spi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.DemandLine.Place;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
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

    /** After the limit was lowered: what is held stays held, and who asks with the lower one waits. */
    @Test
    void isHeld_limitLowered_byTheLimitThatItWasAskedWith() {
        DemandLine line = new DemandLine(List.of(permits(2, 5, 1), permits(2, 5, 2), permits(1, 3, 0)));

        assertThat(line.isHeld(1)).isTrue();
        assertThat(line.hasRoom(2)).isFalse();
    }

    /** The limit was raised, then lowered again, while the first of the two slept. */
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
        assertThat(new DemandLine(List.of(permits(1, 3, 1))).mayKeepSlot(0)).isTrue();
    }

    @Test
    void slotFor_thoseAheadWithoutSlot_areLeftTheLowerOnes() {
        DemandLine line = new DemandLine(List.of(permits(1, 5, 2), permits(1, 5, 0), permits(1, 5, 0)));

        assertThat(line.slotFor(1)).isEqualTo(1);
        assertThat(line.slotFor(2)).isEqualTo(3);
    }

    /** The second guessed a slot that the first has: it is about to write another one, and has the lower token. */
    @Test
    void slotFor_thoseAheadWithAnothersSlot_areLeftTheLowerOnes() {
        DemandLine line = new DemandLine(List.of(permits(1, 5, 1), permits(1, 5, 1), permits(1, 5, 0)));

        assertThat(line.slotFor(1)).isEqualTo(2);
        assertThat(line.slotFor(2)).isEqualTo(3);
    }

    /** A slot that was written by one who found no room is nobody's. */
    @Test
    void slotFor_slotOfOneWithoutRoom_isFree() {
        DemandLine line = new DemandLine(List.of(permits(1, 1, 0), permits(1, 1, 1)));

        assertThat(line.isHeld(1)).isFalse();
        assertThat(line.slotFor(0)).isEqualTo(1);
    }

    @Test
    void mayKeepSlot_onlyIfNobodyElseHasOrNeedsIt() {
        assertThat(new DemandLine(List.of(permits(1, 3, 1), permits(1, 3, 1))).mayKeepSlot(1))
                .isFalse();
        assertThat(new DemandLine(List.of(permits(1, 3, 0), permits(1, 3, 1))).mayKeepSlot(1))
                .isFalse();
        assertThat(new DemandLine(List.of(permits(1, 3, 1), permits(1, 3, 3))).mayKeepSlot(1))
                .isTrue();
        assertThat(new DemandLine(List.of(permits(1, 3, 1), permits(1, 3, 4))).mayKeepSlot(1))
                .isFalse();
        assertThat(new DemandLine(List.of(permits(1, 3, 0))).mayKeepSlot(0)).isFalse();
    }

    /** Random histories: nobody is beyond the limit, no slot is had twice or is above it, and a slot's tokens rise. */
    @Test
    void randomHistories_slotsAreUniqueWithinTheLimitAndRise() {
        for (int seed = 0; seed < 2_000; seed++) {
            Random random = new Random(seed);
            int limit = 1 + random.nextInt(6);
            List<Integer> tokens = new ArrayList<>();
            List<Place> places = new ArrayList<>();
            Map<Integer, Integer> lastTokens = new HashMap<>();
            for (int step = 0; step < 60; step++) {
                int at = places.isEmpty() ? 0 : random.nextInt(places.size());
                if (places.isEmpty() || random.nextInt(3) == 0) {
                    places.add(permits(1 + random.nextInt(limit), limit, 0));
                    tokens.add(step + 1);
                } else if (random.nextInt(3) == 0) {
                    places.remove(at);
                    tokens.remove(at);
                } else {
                    takeSlot(places, at, tokens.get(at), lastTokens, "seed " + seed);
                }
                assertThat(held(places)).as("seed %d", seed).isLessThanOrEqualTo(limit);
            }
        }
    }

    private static void takeSlot(
            List<Place> places, int at, int token, Map<Integer, Integer> lastTokens, String history) {
        DemandLine line = new DemandLine(places);
        Demand.Permits asked = (Demand.Permits) places.get(at).demand();
        if (!line.hasRoom(at) || line.isHeld(at)) {
            return;
        }
        int slot = line.slotFor(at);
        assertThat(slot).as(history).isBetween(1, asked.limit());
        assertThat(places).as(history).noneMatch(other -> other.slot() == slot);
        assertThat(lastTokens.getOrDefault(slot, 0)).as(history).isLessThan(token);
        lastTokens.put(slot, token);
        places.set(at, new Place(asked, slot));
    }

    private static int held(List<Place> places) {
        return places.stream()
                .filter(place -> place.slot() > 0)
                .mapToInt(place -> ((Demand.Permits) place.demand()).permits())
                .sum();
    }
}
