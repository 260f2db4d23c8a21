package dev.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which demands are compatible. */
class DemandTest {

    @Test
    void room_isLeftForTheOwnKindAlone() {
        List<Demand> all = List.of(Demand.EXCLUSIVE, Demand.SHARED, new Demand.Permits(2, 4));
        for (Demand one : all) {
            for (Demand other : all) {
                assertThat(one.leavesRoomFor(other))
                        .as("%s with %s", other, one)
                        .isEqualTo(one.equals(other) && one != Demand.EXCLUSIVE);
            }
        }
        assertThat(all).extracting(Demand::kind).containsExactly(Demand.Kind.values());
        assertThat(all).extracting(Demand::toString).containsExactly("exclusive", "shared", "2 of 4 permits");
    }

    @ParameterizedTest
    @CsvSource({"1, 3, true", "2, 2, true", "2, 3, false", "4, 1, false"})
    void room_forPermits_endsAtTheLimit(int held, int asked, boolean room) {
        assertThat(new Demand.Permits(held, 4).leavesRoomFor(new Demand.Permits(asked, 4)))
                .isEqualTo(room);
    }

    /** While a limit is being changed, two demands may have different limits. */
    @Test
    void room_forPermits_isThatOfTheOwnLimit() {
        assertThat(new Demand.Permits(1, 2).leavesRoomFor(new Demand.Permits(2, 4)))
                .isFalse();
        assertThat(new Demand.Permits(2, 4).leavesRoomFor(new Demand.Permits(1, 2)))
                .isTrue();
    }

    @ParameterizedTest
    @CsvSource({"1, 1, ''", "1000000, 1000000, ''", "0, 1, permits", "2, 1, permits", "1, 1000001, limit", "1, 0, limit"
    })
    void permits_areWithinTheLimit(int permits, int limit, String wrong) {
        if (wrong.isEmpty()) {
            assertThat(new Demand.Permits(permits, limit).permits()).isEqualTo(permits);
        } else {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new Demand.Permits(permits, limit))
                    .withMessageContaining(wrong + " must be from 1 to ")
                    .withMessageEndingWith("got " + (wrong.equals("limit") ? limit : permits));
        }
    }
}
