package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.jdbc.SharedRow.Mark;
import dev.holdfast.lock.jdbc.SharedRow.Share;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The text of a row's shares, and the rule that admits shares and permits. */
final class SharedRowTest {
    private static final OwnerId ASKS = OwnerId.random();

    private static Demand permits(int permits) {
        return new Demand.Permits(permits, 5);
    }

    private static Share share(String owner, Demand demand, int slot, long token) {
        return new Share(owner, demand, slot, token, 1_000, 10, "Zoë; the, 1st\n");
    }

    private static AcquireRequest request(Demand demand) {
        return new AcquireRequest(
                new AcquisitionId("x", ASKS, demand), 1_000, 0, false, null, 1_000, new Identity("who", "host", 1));
    }

    private static Mark mark(Demand demand) {
        return new Mark("waits", demand, 500, 7);
    }

    static Stream<Arguments> room() {
        Demand one = permits(1);
        return Stream.of(
                Arguments.of(List.of(), null, Demand.SHARED, true),
                Arguments.of(List.of(), null, permits(5), true),
                Arguments.of(List.of(Demand.SHARED), null, Demand.SHARED, true),
                Arguments.of(List.of(Demand.SHARED), null, Demand.EXCLUSIVE, false),
                Arguments.of(List.of(Demand.SHARED), null, one, false),
                Arguments.of(List.of(one), null, Demand.SHARED, false),
                Arguments.of(List.of(one), null, Demand.EXCLUSIVE, false),
                Arguments.of(List.of(permits(2), permits(2)), null, one, true),
                Arguments.of(List.of(permits(2), permits(2)), null, permits(2), false),
                Arguments.of(List.of(Demand.SHARED), Demand.EXCLUSIVE, Demand.SHARED, false),
                Arguments.of(List.of(one), permits(4), one, false),
                Arguments.of(List.of(one), permits(3), one, true),
                Arguments.of(List.of(), Demand.EXCLUSIVE, Demand.SHARED, false));
    }

    @ParameterizedTest
    @MethodSource("room")
    void hasRoom_asTheRuleSays(List<Demand> held, Demand waits, Demand asked, boolean room) {
        SharedRow row = new SharedRow(5, waits == null ? null : mark(waits), List.of());
        for (Demand each : held) {
            row = row.with(
                    share("holder" + row.shares().size(), each, 0, row.shares().size() + 1));
        }

        assertThat(row.hasRoomFor(request(asked))).isEqualTo(room);
    }

    @Test
    void hasRoom_ownMark_isNotInTheWay() {
        SharedRow row = new SharedRow(5, new Mark(ASKS.toString(), Demand.SHARED, 500, 7), List.of());

        assertThat(row.hasRoomFor(request(Demand.SHARED))).isTrue();
        assertThat(row.with(share(ASKS.toString(), Demand.SHARED, 0, 8)).mark()).isNull();
    }

    @Test
    void at_timesAndTokens_endWhatIsOver() {
        SharedRow row = new SharedRow(5, mark(Demand.EXCLUSIVE), List.of(share("a", Demand.SHARED, 0, 7)));

        assertThat(row.at(499, 7)).isEqualTo(row);
        assertThat(row.at(500, 7).mark()).as("after its time").isNull();
        assertThat(row.at(499, 8).mark()).as("a lock's after the next grant").isNull();
        assertThat(row.markedBy(mark(permits(2))).at(499, 8).mark())
                .as("that for permits")
                .isNotNull();
        assertThat(row.at(999, 7).shares()).hasSize(1);
        assertThat(row.at(1_000, 7).shares()).isEmpty();
    }

    @Test
    void shares_areInTheOrderOfTheirTokens() {
        Share early = share("b", Demand.SHARED, 0, 6);
        Share late = share("a", Demand.SHARED, 0, 7);
        assertThat(new SharedRow(0, null, List.of(late, early)).shares()).containsExactly(early, late);
        assertThat(SharedRow.NOTHING.with(late).with(early).with(late.until(9)).shares())
                .containsExactly(early, late.until(9));
    }

    @Test
    void freeSlot_isTheLowest() {
        SharedRow row = new SharedRow(5, null, List.of(share("a", permits(1), 2, 1), share("b", permits(1), 1, 2)));

        assertThat(SharedRow.NOTHING.freeSlot()).isEqualTo(1);
        assertThat(row.freeSlot()).isEqualTo(3);
        assertThat(row.without("b").freeSlot()).isEqualTo(1);
    }

    @Test
    void text_isReadAsItWasWritten() {
        SharedRow row = new SharedRow(
                5,
                mark(permits(2)),
                List.of(share("a", permits(1), 2, 1), share("b", permits(3), 1, 2), share("c", Demand.SHARED, 0, 3)));

        assertThat(SharedRow.of(row.text())).isEqualTo(row);
        assertThat(row.text()).isASCII().doesNotContain(" ");
        assertThat(SharedRow.of(row.markedBy(null).text())).isEqualTo(row.markedBy(null));
        assertThat(SharedRow.NOTHING.text()).isEmpty();
        assertThat(SharedRow.of("")).isEqualTo(SharedRow.NOTHING);
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "3", "3;;a,b", "3;a;b", "3;;a,0,0,0,1,x,2,AA"})
    void text_thatIsNotOurs_isRefused(String text) {
        assertThatThrownBy(() -> SharedRow.of(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the row's column 'shares' holds what is not ours");
    }

    @Test
    void row_tellsWhoHasAShare_andWhenSharesEnd() {
        assertThat(SharedRow.NOTHING.endMillis()).isZero();
        assertThat(SharedRow.NOTHING.firstEndMillis()).isZero();
        Share first = share("a", permits(2), 1, 3);
        SharedRow row =
                SharedRow.NOTHING.with(first).with(share("b", permits(1), 2, 4).until(2_000));
        assertThat(row.share("a")).contains(first);
        assertThat(row.share("b").orElseThrow().expiresMillis()).isEqualTo(2_000);
        assertThat(row.share("c")).isEmpty();
        assertThat(row.endMillis()).isEqualTo(2_000);
        assertThat(row.firstEndMillis()).isEqualTo(1_000);
        SharedRow marked = row.markedBy(mark(permits(5))).limitedTo(7);
        assertThat(marked.firstEndMillis()).as("the mark blocks it, too").isEqualTo(500);
        assertThat(marked).isEqualTo(new SharedRow(7, mark(permits(5)), row.shares()));
    }

    @Test
    void share_saysWhoHoldsIt() {
        Share share = new Share("a", permits(2), 3, 9, 1_000, 10, new Identity("who", "host", 1).encoded());
        assertThat(share.info())
                .isEqualTo(new Identity("who", "host", 1).holderInfo(9, Instant.ofEpochMilli(10), permits(2), 3));
    }
}
