package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A page of locks as text and as JSON. */
class ListingTextTest {
    private static final Instant SINCE = Instant.parse("2026-01-02T03:04:05Z");
    private static final HolderInfo ALONE = new HolderInfo("me", "a", 7, SINCE, 42);
    private static final HolderInfo SHARES = new HolderInfo("you", "b", 8, SINCE, 43, Demand.SHARED, 0);
    private static final HolderInfo PERMITS = new HolderInfo("we", "c", 9, SINCE, 44, new Demand.Permits(2, 5), 3);
    private static final HolderInfo NOBODY = new HolderInfo("", "", 0, SINCE, 0, new Demand.Permits(1, 5), 0);
    private static final LockListing PAGE = new LockListing(
            List.of(
                    new ListedLock("a\nb", List.of(ALONE), List.of(SHARES)),
                    new ListedLock("c", List.of(SHARES, PERMITS), List.of()),
                    new ListedLock("d", List.of(), List.of(NOBODY))),
            true);

    @Test
    void lines_areOneALock_andOneForEachBesides() {
        assertThat(ListingText.lines(PAGE).subList(1, 7))
                .containsExactly(
                        "  waits: you@b pid 8 since 2026-01-02T03:04:05Z shared",
                        "c  you@b pid 8 since 2026-01-02T03:04:05Z token 43 shared",
                        "  with: we@c pid 9 since 2026-01-02T03:04:05Z token 44 slot 3, 2 of 5 permits",
                        "d  free",
                        "  waits: unknown since 2026-01-02T03:04:05Z 1 of 5 permits",
                        "… and more: give a longer PREFIX or a higher --limit");
        assertThat(ListingText.lines(PAGE).get(0))
                .doesNotContain("\n")
                .endsWith("  me@a pid 7 since 2026-01-02T03:04:05Z token 42");
        assertThat(ListingText.lines(new LockListing(List.of(), false))).isEmpty();
    }

    @Test
    void json_hasAllFields() {
        String since = ",\"since\":\"2026-01-02T03:04:05Z\"";
        assertThat(ListingText.json(PAGE))
                .isEqualTo("{\"locks\":["
                        + "{\"name\":\"a\\u000ab\",\"held\":true,\"holders\":[{\"who\":\"me\",\"host\":\"a\",\"pid\":7"
                        + since
                        + ",\"token\":42,\"demand\":\"exclusive\"}],\"waiters\":[{\"who\":\"you\",\"host\":\"b\",\"pid\":8"
                        + since + ",\"demand\":\"shared\"}]},"
                        + "{\"name\":\"c\",\"held\":true,\"holders\":[{\"who\":\"you\",\"host\":\"b\",\"pid\":8" + since
                        + ",\"token\":43,\"demand\":\"shared\"},{\"who\":\"we\",\"host\":\"c\",\"pid\":9" + since
                        + ",\"token\":44,\"demand\":\"permits\",\"permits\":2,\"limit\":5,\"slot\":3}],\"waiters\":[]},"
                        + "{\"name\":\"d\",\"held\":false,\"holders\":[],\"waiters\":[{\"who\":\"\",\"host\":\"\",\"pid\":0"
                        + since + ",\"demand\":\"permits\",\"permits\":1,\"limit\":5}]}],\"more\":true}");
        assertThat(ListingText.json(new LockListing(List.of(), false))).isEqualTo("{\"locks\":[],\"more\":false}");
    }

    @Test
    void string_hasNoCharacterThatJsonOrATerminalTakesForItsOwn() {
        assertThat(HolderText.quoted("a\"b\\c\u001b~\u007f\u00fc\ud83d\ude00"))
                .isEqualTo("\"a\\\"b\\\\c\\u001b~\\u007f\\u00fc\\ud83d\\ude00\"");
    }
}
