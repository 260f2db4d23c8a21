package dev.holdfast.lock.consul.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import org.junit.jupiter.api.Test;

/** The value of a key, also if another program wrote it, and the names of keys. */
final class ConsulValueTest {
    private static final OwnerId OWNER = new OwnerId(1, 2);

    private static ConsulValue decode(String text) {
        return ConsulValue.decode(Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void ours_isReadAsItWasWritten() {
        ConsulValue value = ConsulValue.of(OWNER, new Identity("me töo", "host", 7));
        assertThat(ConsulValue.decode(value.base64())).isEqualTo(value);
        assertThat(value.isOf(OWNER)).isTrue();
        assertThat(value.isOf(new OwnerId(1, 3))).isFalse();
        assertThat(Duration.between(value.holder(1).since(), Instant.now()))
                .isBetween(Duration.ZERO, Duration.ofMinutes(1));
        assertThat(decode(OWNER + " 1700000000123 7 host me").holder(42))
                .isEqualTo(new HolderInfo("me", "host", 7, Instant.ofEpochMilli(1_700_000_000_123L), 42));
    }

    @Test
    void whatOthersWrote_isNobodysAndShownAsItIs() {
        for (String other : new String[] {"by hand", "", "x 1 7 host me", OWNER + " y 7 host me", OWNER + " 1"}) {
            ConsulValue value = decode(other);
            assertThat(value.owner()).isEmpty();
            assertThat(value.isOf(OWNER)).isFalse();
            assertThat(value.holder(42)).isEqualTo(new HolderInfo(other, "", 0, Instant.EPOCH, 42));
        }
    }

    @Test
    void keys_areOfTheName_andPathsOfTheKey() {
        ConsulKeys keys = new ConsulKeys("a/b/");
        assertThat(keys.lock("x/y z")).isEqualTo("a/b/x,2Fy,20z");
        assertThat(keys.epoch("s-1")).isEqualTo("a/b/~s-1");
        assertThat(ConsulKeys.path("a/b/x,2Fy")).isEqualTo("/v1/kv/a/b/x,2Fy");
        assertThat(ConsulKeys.isPath("a/b/x,2Fy")).isTrue();
        assertThat(ConsulKeys.isPath("a:b/x")).isFalse();
        assertThat(new ConsulKeys("x".repeat(127) + "/").prefix()).hasSize(128);
    }
}
