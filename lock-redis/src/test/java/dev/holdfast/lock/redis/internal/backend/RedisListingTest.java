package dev.holdfast.lock.redis.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.connection.StubFactory;
import dev.holdfast.lock.redis.internal.connection.Stubs;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.RedisException;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What is listed of a database that SCAN goes through page by page: without a server. */
final class RedisListingTest {
    private static final long TIMEOUT_MILLIS = 600_000;
    private static final String HELD = "0 0123 0 1 - 1 1 4711 h me";

    private final Queue<KeyScanCursor<String>> pages = new ArrayDeque<>();

    /** Cursor, and arguments, of each SCAN. */
    private final List<String> scans = new ArrayList<>();

    /** Script, and keys, of each lock that was read. */
    private final List<String> reads = new ArrayList<>();

    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 100);
    private long millisAScan;

    /** Locks whose names begin with {@code h} are held, and with {@code w} waited for; others have a state with a token. */
    private final RedisClusterAsyncCommands<String, String> commands =
            Stubs.of(RedisClusterAsyncCommands.class, (method, arguments) -> switch (method) {
                case "scan" -> scan((ScanCursor) arguments[0], (ScanArgs) arguments[1]);
                case "evalsha" -> read(arguments[0], (Object[]) arguments[2]);
                default -> Stubs.unexpected(method);
            });

    private final RedisCalls calls = new RedisCalls(StubFactory.linking(() -> Stubs.link(commands, null)));

    private Stubs.Answer<KeyScanCursor<String>> scan(ScanCursor from, ScanArgs args) {
        CommandArgs<String, String> words = new CommandArgs<>(StringCodec.UTF8);
        args.build(words);
        ByteBuf sent = Unpooled.buffer();
        words.encode(sent);
        scans.add(from.getCursor()
                + sent.toString(StandardCharsets.UTF_8)
                        .replaceAll("\\$\\d+\r\n", " ")
                        .replace("\r\n", ""));
        nanos.addAndGet(millisAScan * 1_000_000);
        return Stubs.Answer.of(pages.remove());
    }

    private Stubs.Answer<List<Object>> read(Object script, Object[] keys) {
        reads.add(script + " " + List.of(keys));
        String lock = keys[0].toString();
        if (lock.contains("{broken")) {
            return Stubs.Answer.failed(new RedisException("made up by the test; expect it"));
        }
        return Stubs.Answer.of(
                lock.contains("{h")
                        ? List.of("x", "0", HELD)
                        : lock.contains("{w") ? List.of("-", "0", "", "1700000000123456", "x") : List.of("-", "0", ""));
    }

    private void page(boolean last, String... names) {
        KeyScanCursor<String> page = new KeyScanCursor<>();
        page.setCursor(last ? "0" : "17");
        page.setFinished(last);
        for (String name : names) {
            page.getKeys().add(RedisKeys.of("holdfast", name).lock());
        }
        pages.add(page);
    }

    private LockListing list(int limit) {
        return list("", limit);
    }

    private LockListing list(String prefix, int limit) {
        return BackendDriver.answer(
                new RedisListing(calls, "holdfast", prefix, limit, TIMEOUT_MILLIS, nanos::get).list());
    }

    /** They stay for five minutes: a busy name each second leaves three hundred. */
    @Test
    void statesOfReleasedLocks_doNotUseUpTheListing() {
        page(false, "a", "b", "c");
        page(false, "d", "e");
        page(true, "h1", "h2");
        LockListing listed = list(2);
        assertThat(listed.locks()).extracting(ListedLock::name).containsExactly("h1", "h2");
        assertThat(listed.more()).isFalse();
    }

    /** As a store has them where 20,000 names were used in the last minutes. */
    @Test
    void manyStatesOfReleasedLocks_doNotHideTheHeldOnes() {
        for (int i = 0; i < 20; i++) {
            page(
                    false,
                    IntStream.range(i * 1_000, (i + 1) * 1_000)
                            .mapToObj(n -> "a" + n)
                            .toArray(String[]::new));
        }
        page(true, "h1", "h2", "h3");
        LockListing listed = list(3);
        assertThat(listed.locks()).extracting(ListedLock::name).containsExactly("h1", "h2", "h3");
        assertThat(listed.more()).isFalse();
    }

    /** Whoever asks for a few does not have the whole database read. */
    @Test
    void oneMoreThanIsWanted_isEnough() {
        page(false, "a", "b", "c", "h1", "h2");
        page(true, "h3");
        LockListing listed = list(1);
        assertThat(listed.locks()).extracting(ListedLock::name).containsExactly("h1");
        assertThat(listed.more()).isTrue();
        assertThat(pages).as("pages that were not asked for").hasSize(1);
    }

    @Test
    void scan_asksForFiveThousandKeysOfThePrefix_andGoesOnWhereItWas() {
        page(false, "h/ä1");
        page(true, "h/ä2", "h/b");
        LockListing listed = list("h/ä", 9);
        assertThat(scans)
                .containsExactly(
                        "0 MATCH holdfast:{h%2F%C3%A4*} COUNT 5000", "17 MATCH holdfast:{h%2F%C3%A4*} COUNT 5000");
        assertThat(listed.locks())
                .as("SCAN may bring others")
                .extracting(ListedLock::name)
                .containsExactly("h/ä1", "h/ä2");
        assertThat(listed.more()).isFalse();
        assertThat(reads)
                .containsExactly(
                        RedisDemandScripts.LISTED.digest() + " "
                                + List.of(RedisKeys.of("holdfast", "h/ä1").all()),
                        RedisDemandScripts.LISTED.digest() + " "
                                + List.of(RedisKeys.of("holdfast", "h/ä2").all()));
    }

    /** SCAN may bring a key twice, and others have keys there, too. */
    @Test
    void locksThatAreWaitedFor_areListedOnce_inTheOrderOfTheirNames() {
        page(false, "w", "h2", "free");
        pages.element().getKeys().add("holdfast:{%zz}");
        page(true, "h2", "h1");
        LockListing listed = list(3);
        assertThat(listed.locks()).extracting(ListedLock::name).containsExactly("h1", "h2", "w");
        assertThat(listed.locks().get(2).waiters()).hasSize(1);
        assertThat(listed.locks().get(0).holders()).hasSize(1);
        assertThat(listed.more()).as("as many as are asked for").isFalse();
        assertThat(reads).hasSize(4);

        page(true, "h1", "h2", "w");
        assertThat(list(2).more()).isTrue();
    }

    @Test
    void asManyAsAreWanted_areNotEnough_becauseThereMayBeMore() {
        page(false, "a", "b", "c", "h1");
        page(true, "h2");
        assertThat(list(1).more()).isTrue();
        assertThat(pages).isEmpty();
    }

    /** Each request has the time-out for itself: a database with millions of other keys takes several of them. */
    @Test
    void scan_endsAfterTwentyTimeouts_andSaysSo() {
        millisAScan = TIMEOUT_MILLIS * 10;
        page(false, "h1");
        page(false, "h2");
        page(false, "h3");
        LockListing listed = list(9);
        assertThat(listed.locks()).extracting(ListedLock::name).containsExactly("h1", "h2");
        assertThat(listed.more()).isTrue();
        pages.clear();
        millisAScan = TIMEOUT_MILLIS * 20;
        page(true, "h1");
        assertThat(list(9).more()).as("all were seen").isFalse();
    }

    @Test
    void lockThatCannotBeRead_failsTheListing() {
        page(true, "h1", "broken");
        assertThat(new RedisListing(calls, "holdfast", "", 9, TIMEOUT_MILLIS, nanos::get).list())
                .isCompletedExceptionally();
    }
}
