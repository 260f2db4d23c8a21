package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.LockUri;
import dev.holdfast.lock.testkit.support.CanaryPassword;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class EtcdUriTest {

    @Test
    void parse_plain_hasTheDefaultPort() {
        EtcdUri uri = EtcdUri.parse("etcd://localhost");

        assertThat(uri.endpoints()).containsExactly("localhost:2379");
        assertThat(uri.tls()).isFalse();
        assertThat(uri.user()).isNull();
        assertThat(uri.mode()).isEqualTo(EtcdMode.QUEUE);
    }

    @Test
    void parse_everything_isRead() {
        EtcdUri uri = EtcdUri.parse("etcds://me:p%40ss%2Fword@n1:2379,n2:22379,[::1]:1"
                + "/?prefix=shop%2Flocks/&mode=single-key&ca=/etc/ca.pem&authority=etcd.example");

        assertThat(uri.tls()).isTrue();
        assertThat(uri.user()).isEqualTo("me");
        assertThat(uri.password()).isEqualTo("p@ss/word");
        assertThat(uri.endpoints()).containsExactly("n1:2379", "n2:22379", "[::1]:1");
        assertThat(uri.parameter("prefix")).contains("shop/locks/");
        assertThat(uri.parameter("authority")).contains("etcd.example");
        assertThat(uri.mode()).isEqualTo(EtcdMode.SINGLE_KEY);
        assertThat(uri.toString()).doesNotContain("p@ss").doesNotContain("me:");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "etcd://",
                "etcd:host",
                "http://host",
                "etcd+tls://host",
                "etcd://host#canary",
                "etcds://host?cert=canary",
                "etcd://host:0",
                "etcd://host:99999",
                "etcd://host:port",
                "etcd://host,,other",
                "etcd://ho st",
                "etcd://canary@host",
                "etcd://user:@host",
                "etcd://host/path",
                "etcd://host?unknown=1",
                "etcd://host?prefix",
                "etcd://host?prefix=a&prefix=b",
                "etcd://user:canary%zz@host",
            })
    void parse_malformed_isRefused(String uri) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EtcdUri.parse(uri))
                .withMessageContaining("malformed")
                .satisfies(e -> assertThat(e.getMessage()).doesNotContain("canary"));
    }

    @Test
    void mode_unknown_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EtcdUri.parse("etcd://host?mode=loud").mode())
                .withMessageContaining("single-key");
    }

    @ParameterizedTest
    @ValueSource(strings = {"ca", "cert", "key", "authority"})
    void parse_certificatesWithoutTls_areRefused(String parameter) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EtcdUri.parse("etcd://host?" + parameter + "=/etc/x.pem"))
                .withMessageContaining("parameter '" + parameter + "' needs TLS; write etcds://");
    }

    @ParameterizedTest
    @ValueSource(strings = {"etcds://h", "ETCDS://h", "eTcDs://h", "Etcds://h?ca=x&authority=y"})
    void parse_schemeOfTls_isTlsInAnyCase(String uri) {
        assertThat(EtcdUri.parse(uri).tls()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"tls", "ssl", "CA", "insecure"})
    void parse_unknownParameter_isRefusedByName(String parameter) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EtcdUri.parse("etcd://host?" + parameter + "=true"))
                .withMessageContaining("'" + parameter + "' is unknown");
    }

    @Test
    void parse_anyPassword_isReadOrNeverRepeated() {
        Random random = new Random(19);
        for (int i = 0; i < 5_000; i++) {
            CanaryPassword password = CanaryPassword.random(random);
            EtcdUri exact = EtcdUri.parse("etcds://me:" + password.encoded() + "@h.example:7000,i?prefix=a/");
            assertThat(exact.password()).isEqualTo(password.text());
            assertThat(password.showsIn(exact.toString())).isFalse();
            try {
                assertThat(EtcdUri.parse("etcds://me:" + password.text() + "@h.example:7000,i?prefix=a/")
                                .endpoints())
                        .containsExactly("h.example:7000", "i:2379");
            } catch (IllegalArgumentException e) {
                assertThat(password.showsIn(e.toString())).as(e.toString()).isFalse();
                assertThat(e).hasNoCause();
            }
        }
    }

    @Test
    void target_isTheAddress_withPortsAndTheOtherForm() {
        assertThat(EtcdUri.parse("etcd://me:pw@a,b:1").target())
                .isEqualTo(new ConnectDiagnosis.Target(
                        "etcd://a:2379,b:1",
                        List.of(new LockUri.Host("a", 2379), new LockUri.Host("b", 1)),
                        false,
                        "etcds://"));
        assertThat(EtcdUri.parse("etcds://a").target())
                .isEqualTo(new ConnectDiagnosis.Target(
                        "etcds://a:2379", List.of(new LockUri.Host("a", 2379)), true, "etcd://"));
    }

    @Test
    void parse_saysWhatIsWrong() {
        for (String[] wrong : new String[][] {
            {"http://h", "write etcd://"},
            {"etcd://h/x", "path"},
            {"etcd://h#x", "#"},
            {"etcd://:pw@h", "user:password@host"},
            {"etcd://u:@h", "user:password@host"},
            {"etcds://h?cert=x", "cert and key"},
            {"etcds://h?key=x", "cert and key"},
        }) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> EtcdUri.parse(wrong[0]))
                    .withMessageContaining(wrong[1]);
        }
        assertThat(EtcdUri.parse("etcds://u:p@h?cert=c&key=k").parameter("key")).contains("k");
        assertThat(EtcdUri.parse("etcds://u:p@h").password()).isEqualTo("p");
    }
}
