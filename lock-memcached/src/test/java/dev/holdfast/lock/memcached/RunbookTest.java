package dev.holdfast.lock.memcached;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.testkit.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.BackendDriver;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The commands of docs/stuck.md show the holder, show a free lock, and free a lock by force. */
final class RunbookTest {
    private static final Path PAGE = Path.of("../docs/stuck.md");
    private static final Pattern WHO =
            Pattern.compile("\\| memcached \\| `(get .*?)`, by `nc HOST 11211` \\| `(.*?)`: .*");
    private static final Pattern FORCE = Pattern.compile("\\| memcached \\| `(delete .*?)`, by `nc HOST 11211` \\|");

    @Test
    void commands_ofThePage_findTheHolder_andNobody_andFreeByForce() throws Exception {
        Matcher who = row(WHO);
        String[] shown = who.group(2).split(" ");
        assertThat(shown).hasSize(7);
        try (MemcachedServer server = MemcachedServer.start();
                LockBackend backend = MemcachedFixture.backend(server)) {
            assertThat(server.command(who.group(1))).as("a free lock").isEmpty();
            Grant grant = acquire(backend, "orders/42");

            String[] said = value(server.command(who.group(1)));
            assertThat(said).hasSameSizeAs(shown);
            assertThat(said[0]).isEqualTo(shown[0]);
            assertThat(said[1]).isEqualTo(grant.acquisition().owner().toString());
            assertThat(said[2])
                    .as("token before the first renewal")
                    .isEqualTo("0")
                    .isEqualTo(shown[2]);
            assertThat(said[3]).as("since").hasSameSizeAs(shown[3]);
            Identity holder = BackendDriver.IDENTITY;
            assertThat(List.of(said).subList(4, 7))
                    .containsExactly(Long.toString(holder.pid()), holder.host(), holder.who());

            assertThat(renew(backend, grant)).isInstanceOf(RenewResult.Renewed.class);
            assertThat(value(server.command(who.group(1)))[2]).isEqualTo(Long.toString(grant.token()));

            assertThat(server.command(row(FORCE).group(1))).containsExactly("DELETED");
            Grant next = acquire(backend, "orders/42");
            assertThat(renew(backend, grant))
                    .as("renewal of what was freed by force")
                    .isInstanceOf(RenewResult.Lost.class);
            release(backend, next);
            assertThat(server.command(who.group(1))).as("a free lock").isEmpty();
        }
    }

    /** The line behind {@code VALUE key flags length}. */
    private static String[] value(List<String> answer) {
        assertThat(answer).hasSizeGreaterThanOrEqualTo(2);
        return answer.get(1).split(" ");
    }

    private static Matcher row(Pattern form) throws IOException {
        List<Matcher> rows = Files.readAllLines(PAGE).stream()
                .map(form::matcher)
                .filter(Matcher::matches)
                .toList();
        assertThat(rows).as("memcached in " + PAGE).hasSize(1);
        return rows.get(0);
    }
}
