package dev.holdfast.lock.redis.internal.script;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.lettuce.core.cluster.SlotHash;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A name's keys are readable, of one slot, and of no other name. */
final class RedisKeysTest {

    @ParameterizedTest
    @CsvSource({
        "orders-42_x, orders-42_x",
        "azAZ09, azAZ09",
        "orders/42, orders%2F42",
        "a}b{c, a%7Db%7Bc",
        "a:q, a%3Aq",
        "'`', %60",
        "@[, %40%5B",
        ".., %2E%2E",
        "a.b, a.b",
        "é, %C3%A9"
    })
    void keys_haveTheNameInBraces(String name, String encoded) {
        RedisKeys keys = RedisKeys.of("p", name);
        String lock = "p:{" + encoded + "}";
        assertThat(keys.all()).containsExactly(lock, lock + ":q", lock + ":w");
        assertThat(keys.withLimit()).containsExactly(lock, lock + ":q", lock + ":w", lock + ":n");
        for (String key : keys.withLimit()) {
            assertThat(SlotHash.getSlot(key)).isEqualTo(SlotHash.getSlot(encoded));
        }
    }

    @Test
    void keys_ofDifferentNames_areDifferent() {
        assertThat(RedisKeys.of("p", "a/").lock())
                .isNotEqualTo(RedisKeys.of("p", "a%2F").lock());
        assertThat(RedisKeys.of("p:{a}", "b").lock())
                .isNotEqualTo(RedisKeys.of("p", "a").lock());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a b", "a{b}", "a\n", "ü", "a%"})
    void prefix_withOtherCharacters_isRefused(String prefix) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisKeys.requirePrefix(prefix))
                .withMessageContaining("1 to 128 characters");
    }

    @Test
    void prefix_upToItsLongest_isTaken() {
        assertThat(RedisKeys.requirePrefix("aZ09_.:/-")).isEqualTo("aZ09_.:/-");
        assertThat(RedisKeys.requirePrefix("x".repeat(128))).hasSize(128);
        assertThatIllegalArgumentException().isThrownBy(() -> RedisKeys.requirePrefix("x".repeat(129)));
    }
}
