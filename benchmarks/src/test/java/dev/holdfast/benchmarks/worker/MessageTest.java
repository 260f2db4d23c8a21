package dev.holdfast.benchmarks.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class MessageTest {

    @Test
    void line_saysTheSameWhenReadAgain() {
        Histogram histogram = new Histogram(1_000_000, 3);
        histogram.recordValue(777);
        histogram.recordValue(999_999);
        Message message = new Message("ok").with("name", "a=b").with("n", 42).with("h", histogram);

        Message read = Message.parse(message.toString());

        assertThat(read.word()).isEqualTo("ok");
        assertThat(read.text("name")).isEqualTo("a=b");
        assertThat(read.number("n")).isEqualTo(42);
        assertThat(read.number("m", 7)).isEqualTo(7);
        assertThat(read.histogram("h")).isEqualTo(histogram);
    }

    @Test
    void blanksInAValue_areRefused() {
        assertThatThrownBy(() -> new Message("ok").with("name", "a b"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a b");
    }

    @Test
    void whatIsMissing_isNamed() {
        assertThatThrownBy(() -> Message.parse("ok a=1").text("b")).hasMessageContaining("no b in 'ok a=1'");
    }

    @Test
    void noise_isRefused() {
        assertThatThrownBy(() -> Message.parse("")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Message.parse("WARNING: a library prints"))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
