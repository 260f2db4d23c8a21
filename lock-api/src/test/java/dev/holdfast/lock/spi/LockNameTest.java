package dev.holdfast.lock.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which names are valid, and how they are encoded for stores that allow few characters. */
class LockNameTest {

    @ParameterizedTest
    @CsvSource({
        "a, a",
        "azAZ09_-, azAZ09_-",
        "orders/42, orders%2F42",
        "a b, a%20b",
        "`a{@[:, %60a%7B%40%5B%3A",
        "%41, %2541",
        "é, %C3%A9",
        "🔒, %F0%9F%94%92",
        "., %2E",
        ".., %2E%2E",
        ".a, .a",
        "a..b, a..b"
    })
    void percentEncoded_leavesOnlyWhatEveryStoreAllows(String name, String encoded) {
        assertThat(LockName.percentEncoded(name)).isEqualTo(encoded);
    }

    @Test
    void requireValid_returnsTheName_upToItsLongest() {
        String longest = "é".repeat(LockName.MAX_BYTES / 2);
        assertThat(LockName.requireValid(longest)).isSameAs(longest);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockName.requireValid(longest + "x"))
                .withMessageContaining("513 bytes")
                .withMessageContaining("é".repeat(16) + "…");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockName.requireValid("🔒".repeat(129)))
                .withMessage("lock name '" + "🔒".repeat(16)
                        + "…' has 516 bytes of UTF-8, the limit is 512; shorten or hash it");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "\t\n", "a\0b", "\0", "a\ud800b"})
    void requireValid_refusesWhatNoStoreCanKeep(String name) {
        assertThatIllegalArgumentException().isThrownBy(() -> LockName.requireValid(name));
    }

    @Test
    void utf8_isExact() {
        assertThat(LockName.utf8("é🔒")).isEqualTo("é🔒".getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void printable_staysInItsLine() {
        assertThat(LockName.printable("a\nb")).isEqualTo("a\\nb");
    }

    @ParameterizedTest
    @CsvSource({"a, a", "orders%2F42, orders/42", "%2E%2E, ..", "a..b, a..b", "%F0%9F%94%92, 🔒"})
    void percentDecoded_isTheNameThatIsWrittenSo(String encoded, String name) {
        assertThat(LockName.percentDecoded(encoded)).contains(name);
    }

    /** These are not encodings of any name. */
    @ParameterizedTest
    @ValueSource(strings = {"a/b", "%61", "%2f", ".", "%", "%4", "%zz", "%ff", "a b"})
    void percentDecoded_ofAnythingElse_isNothing(String encoded) {
        assertThat(LockName.percentDecoded(encoded)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"orders/, orders%2F", "a., a.", "'', ''", "., ''", ".., ''"})
    void encodedPrefix_beginsWhatAllNamesOfThePrefixAreWrittenAs(String prefix, String encoded) {
        assertThat(LockName.encodedPrefix(prefix)).isEqualTo(encoded);
    }

    @Test
    void requireValid_saysWhatIsWrong() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockName.requireValid("\t\n"))
                .withMessage("lock name is blank; give it at least one visible character");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockName.requireValid("a\0b"))
                .withMessage("lock name 'a\\u0000b' contains NUL; remove it");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockName.requireValid("a\ud800b"))
                .withMessageContaining("3 characters has an unpaired surrogate");
    }
}
