package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Keys are short, printable and distinct; leases fit into expiries. */
final class MemcachedKeysTest {
    private static final MemcachedKeys KEYS = new MemcachedKeys("holdfast");

    @Test
    void key_ofAShortName_isReadable() {
        assertThat(KEYS.lock("orders/42")).isEqualTo("holdfast:orders%2F42");
    }

    @Test
    void key_ofALongName_isAHash() {
        String plain = "n".repeat(241);
        assertThat(KEYS.lock(plain)).hasSize(250).endsWith("n");
        assertThat(KEYS.lock(plain + "n")).matches("holdfast:~[0-9a-f]{64}");
        assertThat(KEYS.lock("ü".repeat(41))).startsWith("holdfast:~"); // 246 characters once encoded
    }

    @Test
    void keys_areDistinct() {
        String hashed = KEYS.lock("n".repeat(300)).substring("holdfast:".length());
        List<String> names = List.of(
                "a", "A", "a ", "a\n", "a\r\nflush_all", "~floor", "%7Efloor", hashed, "a%20", "\u00e9", "e\u0301");
        Set<String> keys = new HashSet<>();
        keys.add(KEYS.lock("n".repeat(300)));
        for (String name : names) {
            assertThat(keys.add(KEYS.lock(name))).as(name).isTrue();
        }
    }

    @Test
    void key_ofAnyName_hasNoBlankAndNoControlCharacter() {
        Random random = new Random(7);
        for (int i = 0; i < 2_000; i++) {
            String name = random.ints(1 + random.nextInt(150), 1, 0xD800)
                    .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                    .toString();
            assertThat(KEYS.lock(name)).matches("holdfast:(~[0-9a-f]{64}|[A-Za-z0-9_.%-]{1,241})");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a b", "a\n", "ü", "a~b", "a%b"})
    void prefix_withOtherCharacters_isRefused(String prefix) {
        assertThatIllegalArgumentException().isThrownBy(() -> new MemcachedKeys(prefix));
    }

    /** By the server's clock an expiry of n may end n-2 seconds later, and a second earlier still if its ticks come late. */
    @ParameterizedTest
    @CsvSource({"1000,4", "1001,5", "1999,5", "2000,5", "15000,18", "2591996000,2591999", "2591999000,2591999"})
    void expiry_isNeverShorterThanTheLease(long leaseMillis, int seconds) {
        long granted = Expiry.granted(leaseMillis);
        assertThat(Expiry.seconds(granted)).isEqualTo(seconds);
        assertThat(granted).isLessThanOrEqualTo(leaseMillis).isLessThanOrEqualTo((seconds - 3) * 1_000L);
    }

    /** More than 30 days would be a date, long ago. */
    @Test
    void expiry_ofAVeryLongLease_staysBelow30Days() {
        long granted = Expiry.granted(Long.MAX_VALUE / 4);
        assertThat(Expiry.seconds(granted)).isEqualTo(30 * 24 * 3600 - 1);
        assertThat(granted).isEqualTo((30 * 24 * 3600 - 4) * 1_000L);
    }
}
