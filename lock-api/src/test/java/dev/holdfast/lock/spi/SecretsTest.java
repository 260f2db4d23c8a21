package dev.holdfast.lock.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SecretsTest {

    @ParameterizedTest
    @CsvSource({
        "redis://user:CAN/ARY@h, redis:***",
        "jdbc:mysql://u:CAN@ARY@h/db, jdbc:mysql:***",
        "jdbc:h2:tcp://h/x;PASSWORD=CANARY, jdbc:h2:***",
        "JDBC:MySQL:address=(password=CANARY), JDBC:MySQL:***",
        "jdbc:postgresql://h/db?password=CAN;ARY, jdbc:postgresql:***",
        "://:CANARY@h, ***",
        "CANARY, ***",
        "'', ***"
    })
    void redact_anyAddress_keepsTheSchemeAlone(String uri, String shown) {
        assertThat(Secrets.redact(uri)).isEqualTo(shown);
    }

    @Test
    void redact_hugeAddress_isLinear() {
        Assertions.assertTimeout(Duration.ofSeconds(5), () -> {
            for (String piece : new String[] {"user", "://", "@", ":", "a"}) {
                assertThat(Secrets.redact("?" + piece.repeat(1_000_000))).isEqualTo("***");
                assertThat(Secrets.redact("jdbc:x:" + piece.repeat(1_000_000))).isEqualTo("jdbc:x:***");
            }
        });
    }
}
