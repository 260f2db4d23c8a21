package dev.holdfast.benchmarks.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class FieldsTest {

    @Test
    void line_saysTheSameWhenReadAgain() {
        Histogram histogram = new Histogram(1_000_000, 3);
        histogram.recordValue(777);
        histogram.recordValue(999_999);
        Fields fields = new Fields("ok").with("name", "a=b").with("n", 42).with("h", histogram);

        Fields read = Fields.parse(fields.toString());

        assertThat(read.word()).isEqualTo("ok");
        assertThat(read.text("name")).isEqualTo("a=b");
        assertThat(read.number("n")).isEqualTo(42);
        assertThat(read.number("m", 7)).isEqualTo(7);
        assertThat(read.histogram("h")).isEqualTo(histogram);
    }

    @Test
    void blanksInAValue_areRefused() {
        assertThatThrownBy(() -> new Fields("ok").with("name", "a b"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a b");
    }

    @Test
    void whatIsMissing_isNamed() {
        assertThatThrownBy(() -> Fields.parse("ok a=1").text("b")).hasMessageContaining("no b in 'ok a=1'");
    }

    @Test
    void noise_isRefused() {
        assertThatThrownBy(() -> Fields.parse("")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Fields.parse("WARNING: a library prints"))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
