package dev.holdfast.chaos;

import static dev.holdfast.chaos.check.Claims.claim;
import static dev.holdfast.chaos.check.Claims.fault;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.check.Evidence;
import dev.holdfast.chaos.check.Pace;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.History;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.lock.Demand;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Counts what a picture of a run shows. */
final class TimelineTest {
    private static final long SECOND = 1_000_000_000L;
    private static final Pattern HOLD = Pattern.compile("<rect class=\"hold\" x=\"([0-9.]+)\".*? width=\"([0-9.]+)\"");

    private final Operation first = claim(0, OpKind.TIMED, 1, 1_000, 2_000, 4_000);
    private final Operation second = claim(1, OpKind.LOCK, 2, 1_000, 20_000, 22_000);
    private final Operation third = claim(0, OpKind.LOCK, 3, 1_000, 30_000, 30_001);
    private final Injection fault = fault(FaultKind.CLIENT_STOP, 0, 21_000, 23_000);

    private Evidence evidence(Operation... operations) {
        History history = new History(List.of(operations), Map.of(), Map.of(), List.of(), Map.of());
        return new Evidence(history, List.of(fault), Pace.EVEN, Map.of(), 2_000, 100 * SECOND, 140 * SECOND, List.of());
    }

    private static long count(String svg, String part) {
        return Pattern.compile(Pattern.quote(part)).matcher(svg).results().count();
    }

    @Test
    void whole_showsEachHoldFaultAndLoss() {
        second.lost = 22 * SECOND;
        String svg = Timeline.of(evidence(first, second, third));
        assertThat(count(svg, "class=\"hold\"")).as("holds").isEqualTo(3);
        assertThat(count(svg, "class=\"fault\"")).as("faults").isEqualTo(1);
        assertThat(count(svg, "class=\"loss\"")).as("losses").isEqualTo(1);
        Matcher hold = HOLD.matcher(svg);
        assertThat(hold.find()).isTrue();
        // 1,400 pixels are 140 s; the first row begins at 110.
        assertThat(Double.parseDouble(hold.group(1))).as("from 2 s").isEqualTo(130);
        assertThat(Double.parseDouble(hold.group(2))).as("for 2 s").isEqualTo(20);
    }

    /** Thousands of holds of a millisecond each would be drawn on the same pixels. */
    @Test
    void holds_ofOneClientWithinHalfAPixel_areDrawnOnce() {
        Operation next = claim(0, OpKind.LOCK, 4, 1_000, 30_002, 30_010);
        Operation others = claim(1, OpKind.LOCK, 5, 1_000, 30_011, 30_012);
        assertThat(count(Timeline.of(evidence(third, next, others)), "class=\"hold\""))
                .isEqualTo(2);
    }

    /** A lane of four pixels a client; who has the lock alone has the whole row. */
    @Test
    void shares_areSideBySide() {
        first.demand = Demand.SHARED;
        second.demand = Demand.SHARED;
        String svg = Timeline.of(evidence(first, second, third));
        int row = 16;
        int top = FaultKind.Where.values().length * row + 2;
        assertThat(svg).contains("y=\"" + top + "\" width=\"20.0\" height=\"3\"");
        assertThat(svg).contains("y=\"" + (top + 4) + "\" width=\"20.0\" height=\"3\"");
        assertThat(svg).contains("height=\"" + (row - 4) + "\"");
    }

    @Test
    void zoom_showsTenSecondsAroundAFault() {
        String svg = Timeline.around(evidence(first, second, third), fault);
        assertThat(count(svg, "class=\"hold\"")).as("that of 20 to 22 s").isEqualTo(1);
        assertThat(count(svg, "class=\"fault\"")).isEqualTo(1);
        assertThat(svg).contains(">19 s<", ">28 s<").doesNotContain(">18 s<", ">29 s<");
        Matcher hold = HOLD.matcher(svg);
        assertThat(hold.find()).isTrue();
        // 140 pixels a second, from 18.5 s on.
        assertThat(Double.parseDouble(hold.group(1))).isEqualTo(110 + 210);
        assertThat(Double.parseDouble(hold.group(2))).isEqualTo(280);
    }

    @Test
    void zooms_areOfTheFaultsWithMostLosses_onePlaceEach() {
        second.lost = 22 * SECOND;
        Injection quiet = fault(FaultKind.CLIENT_KILL, 1, 60_000, 60_000);
        Injection network = fault(FaultKind.NET_CUT, 1, 61_000, 62_000);
        assertThat(Report.telling(List.of(quiet, fault, network), List.of(first, second, third)))
                .containsExactly(fault, network);
    }
}
