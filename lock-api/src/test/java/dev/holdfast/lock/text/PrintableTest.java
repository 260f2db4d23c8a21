package dev.holdfast.lock.text;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PrintableTest {

    @Test
    void of_plainText_isTheSame() {
        for (String text : new String[] {"", "orders/42", "größe 注文 \ud83d\ude00 \\n", "e\u0301 שלום"}) {
            assertThat(Printable.of(text)).isSameAs(text);
        }
    }

    @Test
    void of_hiddenCharacters_areEscaped() {
        assertThat(Printable.of("a\n\r\t\u001b[2K\u0000\u007f\u0085"))
                .isEqualTo("a\\n\\r\\t\\u001b[2K\\u0000\\u007f\\u0085");
        assertThat(Printable.of("\u202ex\u2066\u200f\u2028\u2029\ufeff"))
                .isEqualTo("\\u202ex\\u2066\\u200f\\u2028\\u2029\\ufeff");
        assertThat(Printable.of("\ud83d\ude00\udb40\udc41!")).isEqualTo("\ud83d\ude00\\udb40\\udc41!");
        assertThat(Printable.of("\ud83d.\ude00")).isEqualTo("\\ud83d.\\ude00");
        assertThat(Printable.of("\ud83d")).isEqualTo("\\ud83d");
    }

    @Test
    void of_everyCharacter_leavesOneLineThatReadsFromLeftToRight() {
        for (int codePoint = 0; codePoint <= Character.MAX_CODE_POINT; codePoint++) {
            String shown = Printable.of("a" + Character.toString(codePoint) + "b");
            assertThat(shown.lines().count()).isEqualTo(1);
            assertThat(shown.codePoints().anyMatch(Character::isISOControl)).isFalse();
            assertThat(shown.codePoints().anyMatch(c -> Character.getType(c) == Character.FORMAT))
                    .isFalse();
        }
    }

    @Test
    void of_longText_isCutBetweenCharacters() {
        assertThat(Printable.of("abcdef", 6)).isEqualTo("abcdef");
        assertThat(Printable.of("abcdefg", 6)).isEqualTo("abcdef…");
        assertThat(Printable.of("abcde\ud83d\ude00", 6)).isEqualTo("abcde…");
    }
}
