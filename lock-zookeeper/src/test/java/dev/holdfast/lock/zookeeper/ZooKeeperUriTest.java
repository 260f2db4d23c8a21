package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.LockUri;
import dev.holdfast.lock.testkit.support.CanaryPassword;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ZooKeeperUriTest {

    @Test
    void parse_severalServers_getPorts() {
        ZooKeeperUri uri = ZooKeeperUri.parse("zookeeper://h1,h2:2182,[::1]:2183,[::2]/a/b");

        assertThat(uri.connectString()).isEqualTo("h1:2181,h2:2182,[::1]:2183,[::2]:2181");
        assertThat(uri.basePath()).isEqualTo("/a/b");
        assertThat(uri.credentials()).isNull();
        assertThat(uri.tls()).isFalse();
    }

    @Test
    void parse_withoutBase_isHoldfast() {
        assertThat(ZooKeeperUri.parse("zk://h1").basePath()).isEqualTo("/holdfast");
        assertThat(ZooKeeperUri.parse("zk://h1/").basePath()).isEqualTo("/holdfast");
        assertThat(ZooKeeperUri.parse("zk://h1/a/").basePath()).isEqualTo("/a");
    }

    @Test
    void parse_credentials_areDecodedAndNotShown() {
        ZooKeeperUri uri = ZooKeeperUri.parse("zk://me:can%40ry%2B+1@h1/a?tls=true&sessionTimeout=2000");

        assertThat(uri.credentials()).isEqualTo("me:can@ry++1");
        assertThat(uri.tls()).isTrue();
        assertThat(uri.sessionMillis()).isEqualTo(2_000);
        assertThat(uri.toString()).doesNotContain("can").doesNotContain("me:");
    }

    @Test
    void sessionMillis_byDefault_isTheLease() {
        assertThat(ZooKeeperUri.parse("zk://h1").sessionMillis(options(Renewal.AUTO)))
                .isEqualTo(10_000);
        assertThat(ZooKeeperUri.parse("zk://h1?sessionTimeout=7").sessionMillis(options(Renewal.AUTO)))
                .isEqualTo(7);
    }

    @Test
    void sessionMillis_ofLeaseThatIsNotRenewed_isHalfAsLongAgain() {
        assertThat(ZooKeeperUri.parse("zk://h1").sessionMillis(options(Renewal.NONE)))
                .isEqualTo(15_000);
    }

    private static LockClientOptions options(Renewal renewal) {
        return LockClientOptions.builder()
                .lockOptions(LockOptions.builder()
                        .lease(Duration.ofSeconds(10))
                        .renewal(renewal)
                        .build())
                .build();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "zk:h1",
                "zks://h1",
                "zk://h1#canary",
                "zk://:canary@h1",
                "zk://u:12/canary@h1",
                "zk://u:canary@h1/a/../b",
                "zk://u:canary@h1?ssl=true",
                "zk://u:canary@h1?tls=TRUE",
                "zk://u:canary@h1?sessionTimeout=",
                "zk://canary@h1",
                "zk://u:canary@",
                "zk://u:canary@h1,,h2",
                "zk://u:canary@h1/a//b",
                "zk://u:canary@h1/zookeeper",
                "zk://u:canary@h1/a?nothing",
                "zk://u:canary@h1/a?unknown=1",
                "zk://u:canary@h1/a?tls=perhaps",
                "zk://u:canary@h1/a?sessionTimeout=0",
                "zk://u:canary%4@h1/a"
            })
    void parse_malformed_saysWhyWithoutPassword(String uri) {
        assertThatThrownBy(() -> ZooKeeperUri.parse(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("canary");
    }

    @Test
    void parse_atInTheBasePath_doesNotBecomeTheHost() {
        ZooKeeperUri uri = ZooKeeperUri.parse("zookeeper://user:p@h1:2181/shop@eu");

        assertThat(uri.connectString()).isEqualTo("h1:2181");
        assertThat(uri.basePath()).isEqualTo("/shop@eu");
        assertThat(uri.credentials()).isEqualTo("user:p");
        assertThat(ZooKeeperUri.parse("ZooKeeper://h1/shop%40eu").basePath()).isEqualTo("/shop@eu");
    }

    @Test
    void parse_anyPassword_isReadOrNeverRepeated() {
        Random random = new Random(20);
        for (int i = 0; i < 5_000; i++) {
            CanaryPassword password = CanaryPassword.random(random);
            ZooKeeperUri exact = ZooKeeperUri.parse("zk://me:" + password.encoded() + "@h.example:7000,i/base");
            assertThat(exact.credentials()).isEqualTo("me:" + password.text());
            assertThat(password.showsIn(exact.toString())).isFalse();
            try {
                assertThat(ZooKeeperUri.parse("zk://me:" + password.text() + "@h.example:7000,i/base")
                                .connectString())
                        .isEqualTo("h.example:7000,i:2181");
            } catch (IllegalArgumentException e) {
                assertThat(password.showsIn(e.toString())).as(e.toString()).isFalse();
                assertThat(e).hasNoCause();
            }
        }
    }

    @Test
    void parse_acl_isTheCreatorsWhereThereIsAnIdentity() {
        assertThat(ZooKeeperUri.parse("zk://h1").acl()).isEqualTo(ZooKeeperUri.Acl.BY_SESSION);
        assertThat(ZooKeeperUri.parse("zk://u:p@h1").acl()).isEqualTo(ZooKeeperUri.Acl.CREATOR);
        assertThat(ZooKeeperUri.parse("zk://h1?tls=true&acl=creator").acl()).isEqualTo(ZooKeeperUri.Acl.CREATOR);
        assertThat(ZooKeeperUri.parse("zk://u:p@h1?acl=world").acl()).isEqualTo(ZooKeeperUri.Acl.WORLD);
        assertThatThrownBy(() -> ZooKeeperUri.parse("zk://h1?acl=me")).hasMessageContaining("creator nor world");
    }

    @Test
    void target_isTheAddress_withPortsAndTheOtherForm() {
        assertThat(ZooKeeperUri.parse("zk://u:p@h1,[::1]:9/a").target())
                .isEqualTo(new ConnectDiagnosis.Target(
                        "zookeeper://h1:2181,[::1]:9",
                        List.of(new LockUri.Host("h1", 2181), new LockUri.Host("[::1]", 9)),
                        false,
                        "?tls=true behind the address"));
        assertThat(ZooKeeperUri.parse("zk://h1?tls=true").target())
                .isEqualTo(new ConnectDiagnosis.Target(
                        "zookeeper://h1:2181?tls=true",
                        List.of(new LockUri.Host("h1", 2181)),
                        true,
                        "the address without tls=true"));
    }

    @Test
    void sessionMillis_isAtMost36Hours_andRoundedUp() {
        assertThat(ZooKeeperUri.parse("zk://h1?sessionTimeout=99999999").sessionMillis())
                .isEqualTo(99_999_999);
        LockClientOptions day = LockClientOptions.builder()
                .lockOptions(LockOptions.builder()
                        .lease(Duration.ofHours(24))
                        .renewal(Renewal.NONE)
                        .build())
                .build();
        assertThat(ZooKeeperUri.parse("zk://h1").sessionMillis(day)).isEqualTo(36 * 60 * 60 * 1_000);
        LockClientOptions odd = LockClientOptions.builder()
                .lockOptions(LockOptions.builder()
                        .lease(Duration.ofMillis(3))
                        .renewal(Renewal.NONE)
                        .build())
                .build();
        assertThat(ZooKeeperUri.parse("zk://h1").sessionMillis(odd)).isEqualTo(5);
    }

    @Test
    void parse_saysWhatIsWrong() {
        for (String[] wrong : new String[][] {
            {"http://h1", "write zookeeper://"},
            {"zk://h1#x", "#"},
            {"zk://:p@h1", "user:password"},
            {"zk://u@h1", "user:password"},
            {"zk://h1/zookeeper/a", "not below /zookeeper"},
            {"zk://h1?tls=x", "neither true nor false"},
            {"zk://h1?sessionTimeout=100000000", "1 to 99999999"},
        }) {
            assertThatThrownBy(() -> ZooKeeperUri.parse(wrong[0])).hasMessageContaining(wrong[1]);
        }
        assertThat(ZooKeeperUri.parse("zk://u:p@h1/a")).hasToString("ZooKeeperUri[h1:2181/a, with credentials]");
        assertThat(ZooKeeperUri.parse("zk://h1/a")).hasToString("ZooKeeperUri[h1:2181/a]");
        assertThat(ZooKeeperUri.parse("zk://h1?tls=false").tls()).isFalse();
    }
}
