package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class ExactStringCodecTest {
    @Test
    void estimate_isSaidToBeExact() {
        assertThat(ExactStringCodec.INSTANCE.isEstimateExact()).isTrue();
    }

    @Test
    void estimate_isTheLengthInUtf8() {
        Random random = new Random(7);
        for (int round = 0; round < 10_000; round++) {
            StringBuilder text = new StringBuilder();
            for (int i = random.nextInt(20); i > 0; i--) {
                int bound = new int[] {0x80, 0x800, 0xD800, 0x110000}[random.nextInt(4)];
                int c = random.nextInt(bound);
                text.appendCodePoint(c >= 0xD800 && c < 0xE000 ? 'x' : c);
            }
            assertThat(ExactStringCodec.INSTANCE.estimateSize(text.toString()))
                    .isEqualTo(text.toString().getBytes(StandardCharsets.UTF_8).length);
        }
    }
}
