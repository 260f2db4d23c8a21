package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.testkit.BackendDriver;
import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

/** What is listed of a database that SCAN goes through page by page: without a server. */
final class RedisListingTest {
    private static final String HELD = "0 0123 0 1 - 1 1 4711 h me";

    private final Queue<KeyScanCursor<String>> pages = new ArrayDeque<>();

    /** Locks whose names begin with {@code h} are held, others have a state that remembers a token. */
    private final RedisClusterAsyncCommands<String, String> commands =
            Stubs.of(RedisClusterAsyncCommands.class, (method, arguments) -> switch (method) {
                case "scan" -> Stubs.Answer.of(pages.remove());
                case "evalsha" ->
                    Stubs.Answer.of(
                            ((Object[]) arguments[2])[0].toString().contains("{h")
                                    ? List.<Object>of("x", "0", HELD)
                                    : List.<Object>of("-", "0", ""));
                default -> Stubs.unexpected(method);
            });

    private final RedisCalls calls = new RedisCalls(new ConnectionFactory() {
        @Override
        public boolean cluster() {
            return false;
        }

        @Override
        public Link connect() {
            return Stubs.link(commands, null);
        }

        @Override
        public StatefulRedisPubSubConnection<String, String> connectPubSub() {
            throw new UnsupportedOperationException();
        }
    });

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
        return BackendDriver.answer(new RedisListing(calls, "holdfast", "", limit, 600_000).list());
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

    /** Whoever asks for a few does not have the whole database read. */
    @Test
    void fourTimesAsManyAsAreWanted_areEnough() {
        page(false, "a", "b", "c", "h1", "h2");
        page(true, "h3");
        LockListing listed = list(1);
        assertThat(listed.locks()).extracting(ListedLock::name).containsExactly("h1");
        assertThat(listed.more()).isTrue();
        assertThat(pages).as("pages that were not asked for").hasSize(1);
    }
}
