package dev.holdfast.lock.jdbc.internal.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.Identity;
import org.junit.jupiter.api.Test;

/** What a user says of itself is stored whatever it is: no database takes all of it. */
final class StatementBinderTest {
    private static final String PAIR = "\ud83d\ude00";

    @Test
    void storable_usualText_isAsItIs() {
        assertThat(StatementBinder.storable(new Identity("me, \u00e9 " + PAIR, "h", 1)))
                .isEqualTo("1 h me, \u00e9 " + PAIR);
    }

    @Test
    void storable_whatNoDatabaseTakes_isReplaced() {
        assertThat(StatementBinder.storable(new Identity("a" + PAIR.charAt(0) + "b\0c", "h", 1)))
                .isEqualTo("1 h a?b c");
    }

    @Test
    void storable_cutWithinACharacter_leavesNoHalfOfIt() {
        String beforeThePair = "x".repeat(500 - "1 h ".length() - 1);
        assertThat(StatementBinder.storable(new Identity(beforeThePair + PAIR, "h", 1)))
                .isEqualTo("1 h " + beforeThePair + "?");
    }
}
