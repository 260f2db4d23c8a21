package dev.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.consul.internal.http.FakeAgent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An address leads to one request to an agent and a client with its settings, or to a message. */
final class ConsulLockProviderTest {
    private static final LockClientOptions OPTIONS = LockClientOptions.builder()
            .lockOptions(LockOptions.builder().lease(Duration.ofMinutes(5)).build())
            .requestTimeout(Duration.ofSeconds(60))
            .build();

    private final ConsulLockProvider provider = new ConsulLockProvider();
    private final ScriptedConsul consul = new ScriptedConsul();

    private static String place(FakeAgent... agents) {
        StringBuilder all = new StringBuilder();
        for (FakeAgent agent : agents) {
            all.append(all.isEmpty() ? "" : ",").append(agent.address().getRawAuthority());
        }
        return all.toString();
    }

    @Test
    void address_isLookedAtOnce_andItsSettingsAreUsed() throws Exception {
        assertThat(provider.schemes()).containsExactlyInAnyOrder("consul", "consuls");
        try (FakeAgent agent = new FakeAgent(consul)) {
            String uri = "consul://:a-token@" + place(agent) + "/shop?lock-delay=2500ms&session-ttl-min=3s";
            try (LockClient client = provider.connect(uri, OPTIONS)) {
                assertThat(consul.asked())
                        .containsExactly(
                                "check /v1/txn?consistent [{\"KV\":{\"Verb\":\"check-index\",\"Key\":\"shop/~probe\",\"Index\":0}}]");
                client.lock("a").acquire().close();
                assertThat(consul.asked().subList(0, 2).toString())
                        .contains("\"TTL\":\"300000ms\",\"LockDelay\":\"2500ms\"", "\"Key\":\"shop/a\"");
            }
            assertThat(consul.kinds()).as("by closing").containsExactly("destroy");
            assertThat(agent.heads()).allSatisfy(head -> assertThat(head).contains("X-Consul-Token: a-token\n"));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> provider.connect("consul://" + place(agent) + "?lock-delay=61s", OPTIONS))
                    .withMessageContaining("lockDelay PT1M1S is not from 0 to 60 s");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> provider.connect("consul://" + place(agent) + "?session-ttl-min=0s", OPTIONS))
                    .withMessageContaining("sessionTtlMin PT0S is not from 1 ms");
            assertThat(consul.asked()).as("requests for a bad address").isEmpty();
        }
    }

    @Test
    void keyThatIsThere_andOneThatIsNot_areBothRight() throws Exception {
        try (FakeAgent agent = new FakeAgent(consul)) {
            String uri = "consul://" + place(agent) + "?session-ttl-min=3s";
            consul.instead("check", ScriptedConsul.refused(0, "failed to check index, key \"x\" doesn't exist"));
            provider.connect(uri, OPTIONS).close();
            provider.connect(uri, OPTIONS).close();
            assertThat(consul.kinds()).as("one look each").containsExactly("check", "check");
        }
    }

    @Test
    void agentThatFails_isFollowedByTheNext_oneThatRefusesIsNot() throws Exception {
        ScriptedConsul bad = new ScriptedConsul();
        bad.always("check", "500 No cluster leader");
        try (FakeAgent first = new FakeAgent(bad);
                FakeAgent second = new FakeAgent(consul)) {
            String uri = "consul://" + place(first, second) + "?session-ttl-min=3s";
            provider.connect(uri, OPTIONS).close();
            assertThat(bad.kinds()).containsExactly("check");
            assertThat(consul.kinds()).containsExactly("check");

            bad.always("check", "403 Permission denied");
            assertThatThrownBy(() -> provider.connect(uri, OPTIONS))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageStartingWith("connecting to consul://" + place(first, second)
                            + ": Consul refuses it: Permission denied; give its token the rules");
            assertThat(bad.kinds()).containsExactly("check");
            assertThat(consul.kinds()).isEmpty();

            bad.always("check", "500 No cluster leader");
            consul.always("check", "500 rpc error");
            assertThatThrownBy(() -> provider.connect(uri, OPTIONS)).isInstanceOf(LockUnavailableException.class);
            assertThat(bad.kinds()).filteredOn("check"::equals).hasSize(1);
            assertThat(consul.kinds()).filteredOn("check"::equals).hasSize(1);
        }
    }

    @Test
    void datacenter_isInEachRequest() throws Exception {
        try (FakeAgent agent = new FakeAgent(consul);
                LockClient client =
                        provider.connect("consul://" + place(agent) + "?dc=eu-1&session-ttl-min=3s", OPTIONS)) {
            client.lock("a").acquire().close();
            assertThat(agent.heads())
                    .hasSize(4)
                    .allSatisfy(head ->
                            assertThat(head.lines().findFirst().orElse("")).containsAnyOf("?dc=eu-1 ", "&dc=eu-1 "));
        }
    }

    @Test
    void connecting_thatIsInterrupted_saysSo() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        try (FakeAgent agent = new FakeAgent((path, body) -> {
            never.await();
            return "404 ";
        })) {
            String uri = "consul://" + place(agent);
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> provider.connect(uri, LockClientOptions.defaults()))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessage("connecting to " + uri + " was interrupted")
                    .hasCauseInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).as("the thread stays interrupted").isTrue();
        }
    }

    @Test
    void filesOfTls_thatCannotBeUsed_areNamed(@TempDir Path folder) throws Exception {
        Path none = folder.resolve("none.pem");
        Path text = Files.writeString(folder.resolve("text.pem"), "text");
        for (String parameters : new String[] {"ca=" + none, "cert=" + text + "&key=" + text}) {
            assertThatThrownBy(() -> provider.connect("consuls://localhost:1?" + parameters, OPTIONS))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageStartingWith("consuls://localhost:1: TLS cannot be set up (")
                    .hasMessageEndingWith("); check the PEM files ca, cert and key");
        }
    }
}
