package dev.holdfast.lock.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SchemeTest {

    @ParameterizedTest
    @CsvSource({"redis://h, redis", "JDBC:h2:mem:x, jdbc", "a+b-c.9:x, a+b-c.9"})
    void of_address_isInLowerCase(String address, String scheme) {
        assertThat(Scheme.of(address)).isEqualTo(scheme);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "redis", "://h", "9a:x", "re dis:x", "a_b:x"})
    void of_anythingElse_isRefused(String address) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Scheme.of(address))
                .withMessageContaining("redis://localhost:6379");
    }

    /** In Turkish, the small letter of I has no dot. */
    @Test
    void of_address_isTheSameInEveryLanguage() {
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.forLanguageTag("tr"));
        try {
            assertThat(Scheme.of("REDIS://h")).isEqualTo("redis");
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    void of_longestScheme_has32Characters() {
        assertThat(Scheme.of("x".repeat(32) + ":")).hasSize(32);
        assertThatIllegalArgumentException().isThrownBy(() -> Scheme.of("x".repeat(33) + ":"));
    }
}
