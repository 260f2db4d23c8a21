package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

class DurationTextTest {

    @ParameterizedTest
    @CsvSource({
        "500ms,PT0.5S",
        "5s,PT5S",
        "5,PT5S",
        "2.5,PT2.5S",
        "2m,PT2M",
        "1h,PT1H",
        "1d,PT24H",
        "PT7S,PT7S",
        "0,PT0S"
    })
    void convert_readsIt(String text, Duration expected) {
        assertThat(new DurationText().convert(text)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "soon", "-1s", "5 s", "1w", "PT-7S", "9999999999s"})
    void convert_refusesOthers(String text) {
        assertThatThrownBy(() -> new DurationText().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("write 500ms, 5s, 2m, 1h or 1d");
    }

    @Test
    void of_isReadableAgain() {
        assertThat(DurationText.of(Duration.ofMillis(1500))).isEqualTo("1500ms");
        assertThat(DurationText.of(Duration.ofMinutes(2))).isEqualTo("120s");
    }
}
