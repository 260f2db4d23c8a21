package dev.holdfast.lock.consul.internal.acquisition;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.consul.ConsulFixture;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.ConsulServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The commands of docs/stuck.md and docs/consul.md show the holder, show a free lock, and free a lock by force. */
final class RunbookTest {
    private static final Path PAGE = Path.of("../docs/stuck.md");
    private static final Path CONSUL_PAGE = Path.of("../docs/consul.md");
    private static final Pattern WHO =
            Pattern.compile("\\| Consul \\| `consul (kv get .*?)` \\| `Value (.*?)`: .*`CreateIndex`.*`Session` \\|");
    private static final Pattern FORCE = Pattern.compile("\\| Consul \\| `consul (kv delete .*?)`\\. .*");
    private static final Pattern LIST = Pattern.compile("curl -s localhost:8500(/v1/session/list) +#.*");
    private static final Pattern DESTROY =
            Pattern.compile("curl -s -X PUT localhost:8500(/v1/session/destroy/)ID +#.*");

    @Test
    void commands_ofThePage_findTheHolder_andNobody_andFreeByForce() throws Exception {
        Matcher who = row(PAGE, WHO);
        String[] shown = who.group(2).split(" ");
        assertThat(shown).hasSize(5);
        try (ConsulServer server = ConsulServer.start();
                ConsulLockBackend backend = backend(server)) {
            release(backend, acquire(backend, "orders/42", 60_000));
            assertNobody(server, who.group(1));
            Grant grant = acquire(backend, "orders/42", 60_000);

            String said = server.run(words(who.group(1)));
            String[] value = field(said, "Value").split(" ");
            assertThat(value).hasSameSizeAs(shown);
            assertThat(value[0]).isEqualTo(grant.acquisition().owner().toString());
            assertThat(value[1]).hasSameSizeAs(shown[1]);
            Identity holder = BackendDriver.IDENTITY;
            assertThat(List.of(value).subList(2, 5))
                    .containsExactly(Long.toString(holder.pid()), holder.host(), holder.who());
            assertThat(field(said, "CreateIndex")).isEqualTo(Long.toString(grant.token()));
            String session = field(said, "Session");
            assertThat(server.agent().request("GET", row(CONSUL_PAGE, LIST).group(1), ""))
                    .contains("\"ID\":\"" + session + "\"")
                    .contains("\"Name\":\"holdfast " + holder.pid() + "@" + holder.host() + "\"")
                    .contains("\"TTL\":\"60000ms\"")
                    .contains("\"LockDelay\":" + Duration.ofSeconds(60).toNanos());

            server.run(words(row(PAGE, FORCE).group(1)));
            assertNobody(server, who.group(1));
            assertThat(renew(backend, grant))
                    .as("renewal of what was freed by force")
                    .isInstanceOf(RenewResult.Lost.class);

            Grant next = acquire(backend, "orders/42", 60_000);
            Grant other = acquire(backend, "orders/43", 60_000);
            server.agent().request("PUT", row(CONSUL_PAGE, DESTROY).group(1) + session, "");
            assertNobody(server, who.group(1));
            assertThat(renew(backend, List.of(next, other)))
                    .as("all locks of that client and lease")
                    .allMatch(result -> result instanceof RenewResult.Lost);
        }
    }

    private static ConsulLockBackend backend(ConsulServer server) {
        return ConsulFixture.backend(server.agent().port(), new ConsulKeys("holdfast/"), null);
    }

    private static void assertNobody(ConsulServer server, String command) {
        assertThatThrownBy(() -> server.run(words(command))).hasMessageContaining("No key exists at");
    }

    private static String[] words(String command) {
        return command.replace("'", "").split(" ");
    }

    private static String field(String said, String name) {
        Matcher line = Pattern.compile("(?m)^" + name + "\\s+(\\S.*)$").matcher(said);
        assertThat(line.find()).as(name + " in " + said).isTrue();
        return line.group(1).strip();
    }

    private static Matcher row(Path page, Pattern form) throws IOException {
        List<Matcher> rows = Files.readAllLines(page).stream()
                .map(form::matcher)
                .filter(Matcher::matches)
                .toList();
        assertThat(rows).as(form + " in " + page).hasSize(1);
        return rows.get(0);
    }
}
