package dev.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.LockUri;
import dev.holdfast.lock.testkit.support.CanaryPassword;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ConsulUriTest {

    @Test
    void parse_plain_hasTheDefaults() {
        ConsulUri uri = ConsulUri.parse("consul://localhost");

        assertThat(uri.agents()).containsExactly(URI.create("http://localhost:8500"));
        assertThat(uri.prefix()).isEqualTo("holdfast/");
        assertThat(uri.token()).isNull();
        assertThat(ConsulUri.parse("CONSULS://h").agents()).containsExactly(URI.create("https://h:8501"));
    }

    @Test
    void parse_everything_isRead() {
        ConsulUri uri = ConsulUri.parse(
                "consuls://:s%40cret@a1:1,a2,[::1]:2/shop/locks?lock-delay=0s&session-ttl-min=1500ms&ca=/etc/ca.pem");

        assertThat(uri.token()).isEqualTo("s@cret");
        assertThat(uri.agents())
                .extracting(URI::toString)
                .containsExactly("https://a1:1", "https://a2:8501", "https://[::1]:2");
        assertThat(uri.prefix()).isEqualTo("shop/locks/");
        assertThat(uri.time("lock-delay")).contains(Duration.ZERO);
        assertThat(uri.time("session-ttl-min")).contains(Duration.ofMillis(1500));
        assertThat(uri.toString()).doesNotContain("cret");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "consul://",
                "consul:host",
                "http://host",
                "consul://host#canary",
                "consuls://host?cert=canary",
                "consul://host?ca=canary",
                "consul://host:0",
                "consul://host,,other",
                "consul://canary@host",
                "consul://canary:canary@host",
                "consul://:@host",
                "consul://:canary%0A@host",
                "consul://host//canary",
                "consul://host/canary/../x",
                "consul://host/canary~",
                "consul://host/canary%20x",
                "consul://can_ary",
                "consuls://host,can_ary:1",
                "consul://host?dc=canary%20x",
                "consul://host?unknown=1",
                "consul://host?lock-delay=canary",
                "consul://host?lock-delay=15",
                "consul://host?lock-delay=1m30s",
                "consul://host?lock-delay=15s30",
            })
    void parse_malformed_isRefused(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> {
                    ConsulUri uri = ConsulUri.parse(text);
                    uri.prefix();
                    uri.time("lock-delay");
                })
                .withMessageContaining("malformed")
                .satisfies(e -> assertThat(e.getMessage()).doesNotContain("canary"));
    }

    @Test
    void parse_anyToken_isReadOrNeverRepeated() {
        Random random = new Random(19);
        for (int i = 0; i < 5_000; i++) {
            CanaryPassword token = CanaryPassword.random(random);
            ConsulUri exact = ConsulUri.parse("consuls://:" + token.encoded() + "@h.example:7000,i/a");
            assertThat(exact.token()).isEqualTo(token.text());
            assertThat(token.showsIn(exact.toString())).isFalse();
            try {
                assertThat(ConsulUri.parse("consuls://:" + token.text() + "@h.example:7000,i/a")
                                .agents())
                        .hasSize(2);
            } catch (IllegalArgumentException e) {
                assertThat(token.showsIn(e.toString())).as(e.toString()).isFalse();
                assertThat(e).hasNoCause();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "/", "a", "a//", "/a/", "./", "a/../", "a b/", "ü/", "~/", "a\u007f/"})
    void prefix_bad_isRefused(String prefix) {
        assertThatIllegalArgumentException().isThrownBy(() -> new ConsulKeys(prefix));
    }

    @Test
    void target_isTheAddress_withPortsAndTheOtherForm() {
        ConnectDiagnosis.Target plain = ConsulUri.parse("consul://:t@a,b:1").target();
        assertThat(plain)
                .isEqualTo(new ConnectDiagnosis.Target(
                        "consul://a,b:1",
                        List.of(new LockUri.Host("a", 8500), new LockUri.Host("b", 1)),
                        false,
                        "consuls://"));
        ConnectDiagnosis.Target tls = ConsulUri.parse("consuls://a").target();
        assertThat(tls)
                .isEqualTo(new ConnectDiagnosis.Target(
                        "consuls://a", List.of(new LockUri.Host("a", 8501)), true, "consul://"));
    }

    @Test
    void parse_saysWhatIsWrong() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ConsulUri.parse("consul://my_consul:8500"))
                .withMessageContaining("underscore");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ConsulUri.parse("consul://h?ca=x"))
                .withMessageContaining("'ca' needs TLS; write consuls://");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ConsulUri.parse("consuls://h?key=x"))
                .withMessageContaining("cert and key");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ConsulUri.parse("consul://h#x"))
                .withMessageContaining("#");
        ConsulUri both = ConsulUri.parse("consuls://:!~@h/a/?cert=c&key=k&ca=x");
        assertThat(both.token()).isEqualTo("!~");
        assertThat(both.prefix()).isEqualTo("a/");
        assertThat(both.parameter("cert")).contains("c");
        assertThat(both.time("lock-delay")).isEmpty();
        for (String token : new String[] {"%20", "%7F"}) {
            assertThatIllegalArgumentException().isThrownBy(() -> ConsulUri.parse("consul://:a" + token + "@h"));
        }
    }
}
