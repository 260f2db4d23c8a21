package dev.holdfast.examples.election;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.examples.election.Timeline.Life;
import dev.holdfast.examples.election.Timeline.Mark;
import java.util.List;
import org.junit.jupiter.api.Test;

/** 78 columns, one for each 100 ms here. */
final class TimelineTest {
    private static final long COLUMN = 100_000;
    private final Timeline timeline = new Timeline(1_000 * COLUMN, 1_078 * COLUMN);

    @Test
    void rows_showWhoLedWhen() {
        List<String> lines = timeline.draw(
                List.of(
                        new Life(1, 4711, at(0), at(20)),
                        new Life(2, 12345678, at(0), at(78)),
                        new Life(3, 4713, at(18), at(78))),
                List.of(new Term(1, 1024, at(2), at(20), 9), new Term(2, 2048, at(40), at(50), 9)),
                List.of(new Mark(1, Timeline.KILLED, at(20), at(20)), new Mark(2, Timeline.PAUSED, at(50), at(60))));

        assertThat(lines)
                .containsExactly(
                        "                 0 s       1         2         3         4         5         6         7",
                        " 1  pid 4711     ..##################X",
                        " 2  pid 12345678 " + ".".repeat(40) + "##########ppppppppppp" + ".".repeat(17),
                        " 3  pid 4713     " + " ".repeat(18) + ".".repeat(60));
    }

    /** Two leaders at once must be visible, not only counted. */
    @Test
    void overlap_isDrawnInBothRows() {
        List<String> lines = timeline.draw(
                List.of(new Life(1, 1, at(0), at(78)), new Life(2, 2, at(0), at(78))),
                List.of(new Term(1, 1024, at(0), at(40), 9), new Term(2, 2048, at(30), at(60), 9)),
                List.of());
        assertThat(lines.get(1).charAt(17 + 35)).isEqualTo(Timeline.LEADS);
        assertThat(lines.get(2).charAt(17 + 35)).isEqualTo(Timeline.LEADS);
    }

    @Test
    void processAskedToStopBeforeItStands_isDrawn() {
        List<Life> stopped = List.of(new Life(1, 1, at(74), at(54)));
        assertThat(timeline.draw(stopped, List.of(), List.of()).get(1)).endsWith(" " + Timeline.STANDS);
    }

    @Test
    void termOfAMoment_isDrawn() {
        assertThat(timeline.draw(
                                List.of(new Life(1, 1, at(0), at(78))),
                                List.of(new Term(1, 1024, at(5), at(5), 1)),
                                List.of())
                        .get(1))
                .contains(".....#.");
    }

    @Test
    void lines_areShortHoweverLongTheRun() {
        for (long seconds : new long[] {0, 1, 7, 60, 599, 7_200, 200_000}) {
            Timeline long1 = new Timeline(5, 5 + seconds * 1_000_000);
            assertThat(long1.draw(List.of(new Life(99, 4194304, 0, Long.MAX_VALUE / 100)), List.of(), List.of()))
                    .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(100));
        }
    }

    private static long at(int column) {
        return (1_000 + column) * COLUMN;
    }
}
