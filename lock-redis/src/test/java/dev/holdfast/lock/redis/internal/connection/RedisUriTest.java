package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.lock.testkit.support.CanaryPassword;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslVerifyMode;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class RedisUriTest {

    /** Everything of a URI that Lettuce acts on. */
    private static List<Object> facts(RedisURI uri) {
        RedisCredentials credentials = Objects.requireNonNull(
                uri.getCredentialsProvider().resolveCredentials().block());
        return List.of(
                uri.toString(),
                uri.isSsl(),
                uri.isStartTls(),
                uri.getVerifyMode(),
                uri.getDatabase(),
                String.valueOf(uri.getClientName()),
                String.valueOf(uri.getSentinelMasterId()),
                String.valueOf(credentials.getUsername()),
                credentials.getPassword() == null ? "none" : new String(credentials.getPassword()),
                uri.getSentinels().stream().map(RedisUriTest::facts).toList());
    }

    @Test
    void text_namesTheServer_withoutThePassword() {
        assertThat(RedisUri.parse("redis://me:secret@shop.example:7"))
                .hasToString("[redis://me:******@shop.example:7]");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://h",
                "redis://h/",
                "redis://h:1234/3",
                "redis://pw@h",
                "redis://:pw@h/0",
                "rediss://me:pw@h:7?verifyPeer=CA&clientName=shop",
                "redis://[::1]:7",
                "redis-sentinel://h#group",
                "redis-sentinel://pw@h:1,i:2#group",
                "rediss-sentinel://me:pw@h:1,i/5?verifyPeer=NONE#group"
            })
    void parse_ofServerAndGroup_meansWhatLettuceMeans(String uri) {
        RedisUri parsed = RedisUri.parse(uri);

        assertThat(parsed.cluster()).isFalse();
        assertThat(parsed.servers()).hasSize(1);
        assertThat(facts(parsed.servers().get(0))).isEqualTo(facts(RedisURI.create(uri)));
        assertThat(facts(
                        RedisUri.parse(uri.replace("redis", "valkey")).servers().get(0)))
                .isEqualTo(facts(parsed.servers().get(0)));
    }

    @Test
    void parse_cluster_hasTheSeeds() {
        RedisUri parsed = RedisUri.parse("rediss-cluster://me:p,w@h:1,i?verifyPeer=CA");

        assertThat(parsed.cluster()).isTrue();
        assertThat(parsed.servers().stream().map(RedisUriTest::facts))
                .containsExactly(
                        facts(RedisURI.create("rediss://me:p%2Cw@h:1?verifyPeer=CA")),
                        facts(RedisURI.create("rediss://me:p%2Cw@i?verifyPeer=CA")));
    }

    @ParameterizedTest
    @CsvSource({
        "redis://h?tls=true&ssl=true, 'tls'",
        "redis://h?ssl=true, 'ssl'",
        "redis://h?timeout=5s, 'timeout'",
        "redis://h?verifyPeer=FULL, rediss://",
        "valkey-cluster://h?verifyPeer=FULL, valkeys-cluster://",
        "rediss://h?verifyPeer=off, verifyPeer",
        "redis+tls://h, rediss://",
        "redis-socket:///tmp/x, host number 1",
        "redis-socket://h/x, scheme",
        "redis://h:1;i:2, host number 1",
        "'redis://h,i', redis-cluster://",
        "redis://h#group, #",
        "redis-cluster://h/3, path",
        "redis-sentinel://h, group",
        "redis-sentinel://h#, group",
        "redis://h/CANARY, database",
        "redis://h/1234567890, database",
        "redis://h/-1, database",
        "redis-sentinel://h/x#group, database",
        "redis-cluster://h#group, #",
        "'valkeys://h,i', valkeys-cluster://",
        "rediss://h?verifyPeer=, verifyPeer",
        "redis://h?ca=/x, rediss://",
        "rediss://h?cert=/x, cert and key",
        "redis://:@h, password",
        "redis://@h, password",
        "redis://me:@h, password"
    })
    void parse_whatCannotBeMeant_isRefused(String uri, String named) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisUri.parse(uri))
                .withMessageContaining(named)
                .withMessageNotContaining("CANARY");
    }

    @Test
    void parse_filesOfTls_areThoseOfTheAddress() {
        assertThat(RedisUri.parse("rediss-cluster://h,i?ca=/a.pem&cert=/c.pem&key=/k.pem")
                        .files())
                .isEqualTo(new TlsFiles("/a.pem", "/c.pem", "/k.pem"));
        assertThat(RedisUri.parse("rediss-sentinel://h?ca=/a.pem#g").files())
                .isEqualTo(new TlsFiles("/a.pem", null, null));
        assertThat(RedisUri.parse("rediss://h").files()).isEqualTo(TlsFiles.NONE);
    }

    @Test
    void parse_smallThings_meanWhatTheySay() {
        assertThat(RedisUri.parse("redis-cluster://h/").servers().get(0).getPort())
                .isEqualTo(6379);
        assertThat(RedisUri.parse("redis://h/999999999").servers().get(0).getDatabase())
                .isEqualTo(999_999_999);
        assertThat(List.of("full", "Ca", "none"))
                .extracting(mode -> RedisUri.parse("rediss://h?verifyPeer=" + mode)
                        .servers()
                        .get(0)
                        .getVerifyMode())
                .containsExactly(SslVerifyMode.FULL, SslVerifyMode.CA, SslVerifyMode.NONE);
    }

    /** Whoever writes a scheme of TLS gets TLS or is refused, whatever else the address has. */
    @Test
    void parse_anySpelling_isNeverLessSecureThanItsScheme() {
        Random random = new Random(17);
        for (int i = 0; i < 5_000; i++) {
            String kind = List.of("", "-sentinel", "-cluster").get(random.nextInt(3));
            boolean tls = random.nextBoolean();
            String scheme = (random.nextBoolean() ? "redis" : "valkey") + (tls ? "s" : "") + kind;
            StringBuilder spelled = new StringBuilder();
            scheme.chars()
                    .forEach(c -> spelled.append(
                            (char) (random.nextBoolean() ? Character.toUpperCase(c) : Character.toLowerCase(c))));
            String hint = List.of("", "?ssl=true", "?tls=true", "?startTls=true", "?verifyPeer=FULL", "?VERIFYPEER=CA")
                    .get(random.nextInt(6));
            String uri = spelled + "://u:p@h:1" + hint + (kind.equals("-sentinel") ? "#g" : "");
            boolean wantsTls = tls || !hint.isEmpty();
            try {
                for (RedisURI server : RedisUri.parse(uri).servers()) {
                    assertThat(server.isSsl() || !wantsTls).as(uri).isTrue();
                    assertThat(server.getSentinels()).as(uri).allMatch(each -> each.isSsl() || !wantsTls);
                    assertThat(server.getVerifyMode()).as(uri).isEqualTo(SslVerifyMode.FULL);
                }
            } catch (IllegalArgumentException e) {
                assertThat(hint).as(uri).isNotEmpty();
            }
        }
    }

    @Test
    void parse_anyPassword_isReadOrNeverRepeated() {
        Random random = new Random(18);
        for (int i = 0; i < 5_000; i++) {
            CanaryPassword password = CanaryPassword.random(random);
            String kind = List.of("redis", "rediss-cluster", "redis-sentinel").get(random.nextInt(3));
            String tail = "@h.example:7000" + (kind.equals("redis-sentinel") ? "#group" : "");
            RedisUri exact = RedisUri.parse(kind + "://me:" + password.encoded() + tail);
            assertThat(facts(exact.servers().get(0))).contains(kind.equals("redis-sentinel") ? "group" : "me");
            RedisCredentials read = Objects.requireNonNull(exact.servers()
                    .get(0)
                    .getCredentialsProvider()
                    .resolveCredentials()
                    .block());
            assertThat(new String(Objects.requireNonNull(read.getPassword()))).isEqualTo(password.text());
            assertThat(password.showsIn(exact.toString())).isFalse();
            try {
                RedisURI bare = RedisUri.parse(kind + "://me:" + password.text() + tail)
                        .servers()
                        .get(0);
                assertThat(bare.getHost() == null ? bare.getSentinels().get(0).getHost() : bare.getHost())
                        .isEqualTo("h.example");
            } catch (IllegalArgumentException e) {
                assertThat(password.showsIn(e.toString())).as(e.toString()).isFalse();
                assertThat(e).hasNoCause();
            }
        }
    }
}
