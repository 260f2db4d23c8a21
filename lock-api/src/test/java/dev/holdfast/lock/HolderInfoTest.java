package dev.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import org.junit.jupiter.api.Test;

class HolderInfoTest {

    @Test
    void holder_storedByAnAttacker_isPrintableAndBounded() {
        HolderInfo holder =
                new HolderInfo("me\n10:00 WARN forged\u202e", "h\u001b[2K".repeat(100_000), 1, Instant.EPOCH, 1);

        assertThat(holder.who()).isEqualTo("me\\n10:00 WARN forged\\u202e");
        assertThat(holder.host())
                .hasSizeLessThan(2_000)
                .startsWith("h\\u001b[2K")
                .endsWith("…");
        assertThat(holder.toString()).hasLineCount(1);
    }

    @Test
    void holder_ofOurs_isAsItWas() {
        HolderInfo holder = new HolderInfo("größe/注文 42", "host", 1, Instant.EPOCH, 1);

        assertThat(holder.who()).isEqualTo("größe/注文 42");
        assertThat(new HolderInfo("x".repeat(256), "", 1, Instant.EPOCH, 1).who())
                .isEqualTo("x".repeat(256));
        HolderInfo longer = new HolderInfo("x".repeat(257), "h".repeat(257), 1, Instant.EPOCH, 1);
        assertThat(longer.who()).isEqualTo("x".repeat(256) + "…");
        assertThat(longer.host()).isEqualTo("h".repeat(256) + "…");
    }
}
