package dev.holdfast.benchmarks.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.worker.Sections.Section;
import java.util.List;
import org.junit.jupiter.api.Test;

class HandOffsTest {

    @Test
    void onlyChangesOfTheProcess_areHandOffs() {
        List<Section> sections = List.of(
                new Section(1, 0, 1),
                new Section(0, 500, 1_000),
                new Section(0, 2_000, 3_000),
                new Section(1, 10_000, 11_000),
                new Section(0, 20_000, 21_000));

        assertThat(HandOffs.of(sections, 5_000, 2_000))
                .containsEntry(Metric.HANDOFFS, 1.0)
                .containsEntry(Metric.HANDOFF_P50, 8.0);
    }

    @Test
    void aProcessAlone_hasNone() {
        assertThat(HandOffs.of(List.of(new Section(0, 0, 1), new Section(0, 2, 3)), 0, 1_000))
                .containsEntry(Metric.HANDOFFS, 0.0)
                .doesNotContainKey(Metric.HANDOFF_P50);
    }

    @Test
    void sectionsThatOverlap_areNoExclusion() {
        assertThatThrownBy(() -> HandOffs.of(List.of(new Section(0, 0, 10), new Section(1, 5, 20)), 0, 1_000))
                .hasMessageContaining("no mutual exclusion");
    }
}
