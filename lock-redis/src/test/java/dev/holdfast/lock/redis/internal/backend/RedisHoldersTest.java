package dev.holdfast.lock.redis.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Who holds and who waits, read from what the scripts answer; what others wrote is shown unchanged. */
final class RedisHoldersTest {
    private static final Instant SINCE = Instant.ofEpochMilli(1_700_000_000_123L);

    @Test
    void nobody_isNobody() {
        assertThat(RedisHolders.of(List.of("-", "0", ""))).isEmpty();
    }

    @Test
    void lock_hasOneHolder() {
        assertThat(RedisHolders.of(List.of("x", "0", "0 aa 5 42 - 1 1700000000123 7 host me too")))
                .containsExactly(new HolderInfo("me too", "host", 7, SINCE, 42));
        for (String other :
                new String[] {"by hand", "0 aa 5 x - 1 1700000000123 7 h me", "0 aa 5 42 - 1 y 7 h me", ""}) {
            assertThat(RedisHolders.of(List.of("x", "0", other)))
                    .containsExactly(new HolderInfo(other, "", 0, Instant.EPOCH, 0));
        }
    }

    @Test
    void readers_areInTheOrderOfTheirTokens() {
        String lines = "\nbb\t0\t0 43 9 1 1700000000123 8 h two\naa\t0\t0 42 9 1 1700000000123 7 h one";
        assertThat(RedisHolders.of(List.of("s", "0", lines)))
                .containsExactly(
                        new HolderInfo("one", "h", 7, SINCE, 42, Demand.SHARED, 0),
                        new HolderInfo("two", "h", 8, SINCE, 43, Demand.SHARED, 0));
    }

    @Test
    void permits_haveTheirSlotAndLimit() {
        String line = "\naa\t3\t2 42 9 1 1700000000123 7 h one";
        assertThat(RedisHolders.of(List.of("p", "5", line)))
                .containsExactly(new HolderInfo("one", "h", 7, SINCE, 42, new Demand.Permits(2, 5), 3));
        // What cannot be: shown as the nearest that can.
        assertThat(RedisHolders.of(List.of("p", "1", line)))
                .first()
                .extracting(HolderInfo::demand)
                .isEqualTo(new Demand.Permits(2, 2));
        assertThat(RedisHolders.of(List.of("p", "9999999999", "\naa\t1\t0 42 9 1 1700000000123 7 h one")))
                .first()
                .extracting(HolderInfo::demand)
                .isEqualTo(new Demand.Permits(1, 1));
        assertThat(RedisHolders.of(List.of("p", "999999999", "\naa\t1\t999999999 42 9 1 1700000000123 7 h one")))
                .first()
                .extracting(HolderInfo::demand)
                .isEqualTo(new Demand.Permits(Demand.MAX_PERMITS, Demand.MAX_PERMITS));
    }

    @Test
    void linesOfOthers_areShownAsTheyAre() {
        for (String other : new String[] {
            "by hand", "aa\t1", "aa\t1\t2 42", "aa\t1\t2 x 9 1 1700000000123 7", "aa\t1\t2 42 9 1 y 7 h me"
        }) {
            HolderInfo holder = RedisHolders.of(List.of("p", "5", "\n" + other)).get(0);
            assertThat(holder).isEqualTo(new HolderInfo(other, "", 0, Instant.EPOCH, 0));
        }
    }

    @Test
    void waiters_haveWhatTheyAskFor_andSinceWhen() {
        assertThat(RedisHolders.waiters(List.of(
                        "x", "0", "", "1700000000123456", "x", "1.700000000123e15", "p 2 5", "0", "s 0 0", "odd")))
                .containsExactly(
                        new HolderInfo("", "", 0, SINCE, 0),
                        new HolderInfo("", "", 0, SINCE, 0, new Demand.Permits(2, 5), 0),
                        new HolderInfo("", "", 0, Instant.EPOCH, 0, Demand.SHARED, 0));
        assertThat(RedisHolders.waiters(List.of("x", "0", ""))).isEmpty();
    }
}
