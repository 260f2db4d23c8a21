package dev.holdfast.lock.memcached;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An item is read as it was written, and other values are refused. */
final class LockItemTest {
    private static final OwnerId OWNER = new OwnerId(1, 2);

    @Test
    void item_isReadAsItWasWritten() {
        LockItem item = LockItem.asked(OWNER, new Identity("me\ntöo", "host", 7));
        assertThat(LockItem.decode(item.encoded())).isEqualTo(item);
        assertThat(LockItem.decode(item.withToken(42).encoded())).isEqualTo(item.withToken(42));
        assertThat(item.token()).isZero();
        assertThat(item.withToken(42).token()).isEqualTo(42);
        assertThat(item.identity()).isEqualTo("7 host me\ntöo");
        assertThat(Duration.between(Instant.ofEpochMilli(item.sinceMillis()), Instant.now()))
                .isBetween(Duration.ZERO, Duration.ofMinutes(1));
    }

    @Test
    void owner_isCompared() {
        LockItem item = LockItem.asked(OWNER, new Identity("me", "host", 7));
        assertThat(item.isOf(OWNER)).isTrue();
        assertThat(item.isOf(new OwnerId(1, 3))).isFalse();
        assertThat(LockItem.isOf(item.encoded(), OWNER)).isTrue();
        assertThat(LockItem.isOf(item.encoded(), new OwnerId(1, 3))).isFalse();
        assertThat(LockItem.isOf("by hand".getBytes(UTF_8), OWNER)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "by hand", "holdfast2 0 0 0 x", "holdfast1 00000000000000010000000000000002 x 0 me"})
    void anythingElse_isRefused(String text) {
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> LockItem.decode(text.getBytes(UTF_8)))
                .withMessageContaining("choose another prefix");
    }
}
