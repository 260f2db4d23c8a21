package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.LockUri;
import dev.holdfast.lock.testkit.support.CanaryPassword;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class MemcachedUriTest {

    @Test
    void parse_plain_hasTheDefaults() {
        MemcachedUri uri = MemcachedUri.parse("memcached://cache-1");

        assertThat(uri).hasToString("memcached://cache-1:11211");
        assertThat(uri.prefix()).isEqualTo("holdfast");
        assertThat(uri.tls()).isFalse();
    }

    @Test
    void parse_everything_isRead() {
        MemcachedUri uri = MemcachedUri.parse("memcacheds://me:p%40ss@[::1]:1/shop/locks?ca=/etc/ca.pem");

        assertThat(uri).hasToString("memcacheds://[::1]:1");
        assertThat(uri.prefix()).isEqualTo("shop/locks");
        assertThat(uri.tls()).isTrue();
        assertThat(uri.uri().password()).contains("p@ss");
        assertThat(uri.uri().parameter("ca")).contains("/etc/ca.pem");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "memcached://",
                "memcached:host",
                "redis://host",
                "memcached://host#canary",
                "memcached://host:0",
                "memcached://canary@host",
                "memcached://user:@host",
                "memcached://us%20er:canary@host",
                "memcached://user:canary%0d%0aflush_all@host",
                "memcached://host/pre%20fix",
                "memcached://host?unknown=1",
                "memcached://host?ca=/x",
            })
    void parse_malformed_isRefused(String uri) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemcachedUri.parse(uri))
                .withMessageContaining("malformed")
                .satisfies(e -> assertThat(e.getMessage()).doesNotContain("canary"));
    }

    @Test
    void parse_severalHosts_isRefusedWithTheReason() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemcachedUri.parse("memcached://a,b"))
                .withMessageContaining("one memcached");
    }

    @Test
    void parse_randomPasswords_areNeverRepeated() {
        Random random = new Random(24);
        for (int i = 0; i < 300; i++) {
            CanaryPassword password = CanaryPassword.random(random);
            String address = "memcached://me:" + password.text() + "@127.0.0.1:1";
            assertThatThrownBy(() -> new MemcachedLockProvider().connect(address, LockClientOptions.defaults()))
                    .satisfies(failure -> assertThat(password.showsIn(failure.toString()))
                            .as(failure.toString())
                            .isFalse());
        }
    }

    @Test
    void target_isTheAddress_withItsPortAndTheOtherForm() {
        assertThat(MemcachedUri.parse("memcached://me:pw@a").target())
                .isEqualTo(new ConnectDiagnosis.Target(
                        "memcached://a:11211", List.of(new LockUri.Host("a", 11_211)), false, "memcacheds://"));
        assertThat(MemcachedUri.parse("memcacheds://a:1").target())
                .isEqualTo(new ConnectDiagnosis.Target(
                        "memcacheds://a:1", List.of(new LockUri.Host("a", 1)), true, "memcached://"));
    }

    @Test
    void parse_saysWhatIsWrong() {
        for (String[] wrong : new String[][] {
            {"memcached://h#x", "#"},
            {"memcached://h?ca=x", "'ca' needs TLS; write memcacheds://"},
            {"memcached://:pw@h", "user:password"},
            {"memcached://u@h", "user:password"},
            {"memcached://u%00:pw@h", "blanks or line ends"},
            {"memcached://u:p%00w@h", "blanks or line ends"},
            {"memcached://h/~", "1 to 128 characters"},
            {"memcached://h/" + "p".repeat(129), "1 to 128 characters"},
            {"redis://h", "write memcached:// or, encrypted, memcacheds://"},
            {"memcached://a,b", "has two holders"},
        }) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> MemcachedUri.parse(wrong[0]))
                    .withMessageContaining(wrong[1]);
        }
        assertThat(MemcachedUri.parse("memcached://u:p%20w%09@h").uri().password())
                .as("a password may have blanks")
                .contains("p w\t");
        assertThat(MemcachedUri.parse("memcached://h/" + "p".repeat(128)).prefix())
                .hasSize(128);
        assertThat(MemcachedUri.parse("memcached://h/").prefix()).isEqualTo("holdfast");
    }
}
