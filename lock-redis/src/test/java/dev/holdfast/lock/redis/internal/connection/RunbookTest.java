package dev.holdfast.lock.redis.internal.connection;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.redis.RedisInternals;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Who asks as docs/stuck.md says learns who has a lock, and whether it is free. */
final class RunbookTest {
    private static final Path PAGE = Path.of("../docs/stuck.md");
    private static final Pattern ROW =
            Pattern.compile("\\| Redis \\| `redis-cli (GET .*?)`, `redis-cli (PTTL .*?)` \\| `(.*?)`: .*");
    private static final long TOKEN_MEMORY = 300_000;

    @Test
    void commands_ofThePage_findTheHolder_andNobody() throws Exception {
        Matcher row = row();
        String[] shown = row.group(3).split(" ");
        assertThat(shown).hasSize(10);
        Identity holder = new Identity(shown[9], shown[8], Long.parseLong(shown[7]));
        try (RedisServer server = RedisServer.start();
                LockBackend backend = RedisInternals.backend(RedisInternals.builder(OwnedConnectionFactory.connect(
                        "redis://" + server.host() + ":" + server.port(), Duration.ofSeconds(20))))) {
            AcquireResult result = answer(backend.tryAcquire(new AcquireRequest(
                    BackendDriver.newAcquisition("orders/42"),
                    Attempts.LEASE_MILLIS,
                    0,
                    false,
                    null,
                    BackendDriver.TIMEOUT_MILLIS,
                    holder)));
            Grant grant = ((AcquireResult.Granted) result).grant();

            String[] state = ask(server, row.group(1)).split(" ");
            assertThat(ask(server, row.group(2)))
                    .satisfies(left -> assertThat(Long.parseLong(left)).isGreaterThan(TOKEN_MEMORY));
            assertThat(state).hasSameSizeAs(shown);
            assertThat(state[1]).isEqualTo(grant.acquisition().owner().toString());
            assertThat(state[3]).isEqualTo(Long.toString(grant.token())).hasSameSizeAs(shown[3]);
            assertThat(state[6]).hasSameSizeAs(shown[6]);
            for (int same : new int[] {0, 2, 4, 5, 7, 8, 9}) {
                assertThat(state[same]).isEqualTo(shown[same]);
            }

            release(backend, grant);
            assertThat(ask(server, row.group(1))).startsWith("0 - ");
            assertThat(Long.parseLong(ask(server, row.group(2)))).isLessThanOrEqualTo(TOKEN_MEMORY);
        }
    }

    private static Matcher row() throws IOException {
        List<Matcher> rows = Files.readAllLines(PAGE).stream()
                .map(ROW::matcher)
                .filter(Matcher::matches)
                .toList();
        assertThat(rows).as("Redis in " + PAGE).hasSize(1);
        return rows.get(0);
    }

    private static String ask(RedisServer server, String command) throws IOException {
        String[] words = command.replace("'", "").split(" ");
        return Objects.requireNonNull(server.command(words)).toString();
    }
}
