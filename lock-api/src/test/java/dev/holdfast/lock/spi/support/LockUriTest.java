package dev.holdfast.lock.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LockUriTest {
    private static final Set<String> KNOWN = Set.of("tls", "ca");

    private static LockUri parse(String uri) {
        return LockUri.parse(uri, KNOWN);
    }

    @Test
    void parse_everything_isTakenApart() {
        LockUri uri = parse(
                "Store+X://me:a%2Fb:c+%E2%82%AC@n_1.example:80,[::1]:9,h3/base%40x/y?ca=%2Fetc%2Fx.pem&tls=#grp%23");

        assertThat(uri.scheme()).isEqualTo("store+x");
        assertThat(uri.user()).contains("me");
        assertThat(uri.password()).contains("a/b:c+€");
        assertThat(uri.hosts())
                .containsExactly(
                        new LockUri.Host("n_1.example", 80), new LockUri.Host("[::1]", 9), new LockUri.Host("h3", 0));
        assertThat(uri.hosts().get(2).withPort(7)).isEqualTo("h3:7");
        assertThat(uri.path()).isEqualTo("/base@x/y");
        assertThat(uri.parameter("ca")).contains("/etc/x.pem");
        assertThat(uri.parameter("tls")).contains("");
        assertThat(uri.fragment()).contains("grp#");
        assertThat(uri.toString()).isEqualTo("store+x://n_1.example:80,[::1]:9,h3");
    }

    @Test
    void parse_hostAlone_hasNothingElse() {
        LockUri uri = parse("s://h");

        assertThat(uri.user()).isEmpty();
        assertThat(uri.password()).isEmpty();
        assertThat(uri.path()).isEmpty();
        assertThat(uri.fragment()).isEmpty();
        assertThat(uri.parameter("tls")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"s://me@h,me,", "s://:pw@h,'',pw", "s://me:@h,me,''", "s://me:p@ss@h,me,p@ss", "s://a:b:c@h,a,b:c"})
    void parse_userInformation_endsAtItsFirstColonAndLastAt(String uri, String user, String password) {
        assertThat(parse(uri).user()).contains(user);
        assertThat(parse(uri).password().orElse(null)).isEqualTo(password);
        assertThat(parse(uri).hosts()).containsExactly(new LockUri.Host("h", 0));
    }

    @Test
    void parse_firstAndLastPort_areTaken() {
        LockUri uri = parse("s://h:1,h:65535");
        assertThat(uri.hosts()).containsExactly(new LockUri.Host("h", 1), new LockUri.Host("h", 65_535));
        assertThat(uri.hosts().get(0).portOr(7)).isEqualTo(1);
        assertThat(new LockUri.Host("h", 0).portOr(7)).isEqualTo(7);
    }

    @Test
    void parse_emptyParts_areEmpty() {
        LockUri uri = parse("s://@h?#");
        assertThat(uri.user()).contains("");
        assertThat(uri.password()).isEmpty();
        assertThat(uri.path()).isEmpty();
        assertThat(uri.parameter("tls")).isEmpty();
        assertThat(uri.fragment()).contains("");
        assertThat(parse("s://h#x").path()).isEmpty();
        assertThat(parse("s://h#x").fragment()).contains("x");
        assertThat(parse("s://h/p#f?tls=1/#").fragment())
                .as("all behind the first #")
                .contains("f?tls=1/#");
        assertThat(parse("s://h/p#f?tls=1/#").parameter("tls")).isEmpty();
        assertThat(parse("s://h?ca=a=b").parameter("ca")).contains("a=b");
    }

    @Test
    void parse_unknownParameter_saysWhichThereAre() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> parse("s://h?x=1"))
                .withMessageEndingWith("'x' is unknown; it takes ca, tls");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockUri.parse("s://h?x=1", Set.of()))
                .withMessageEndingWith("'x' is unknown; it takes none");
    }

    @Test
    void parse_atBehindTheHosts_needsAUserAndAPortBeforeIt() {
        for (String uri : new String[] {"s://h:1/a@b", "s://@h/a@b"}) {
            assertThatIllegalArgumentException().isThrownBy(() -> parse(uri));
        }
        assertThat(parse("s://@h:1/a@b").path()).isEqualTo("/a@b");
    }

    @Test
    void parse_atInPath_behindUserAndPort_belongsToThePath() {
        LockUri uri = parse("s://user:p@h1:2181/shop@eu");

        assertThat(uri.hosts()).containsExactly(new LockUri.Host("h1", 2181));
        assertThat(uri.path()).isEqualTo("/shop@eu");
    }

    @ParameterizedTest
    @CsvSource({
        "'s:h', no //",
        "'s:/h', no //",
        "'s://', host number 1",
        "'s:///path', host number 1",
        "'s://h,,i', host number 2",
        "'s://h i', host number 1",
        "'s://h:x', host number 1",
        "'s://h:0', port of host number 1",
        "'s://i,h:65536', port of host number 2",
        "'s://h%41', host number 1",
        "'s://CANARY]', host number 1",
        "'s://u:12/CANARY@h', behind the hosts",
        "'s://u:12?CANARY@h', behind the hosts",
        "'s://u:12#CANARY@h', behind the hosts",
        "'s://u:CANARY@h/shop@eu', behind the hosts",
        "'s://u:CAN/CANARY@h', host number 1",
        "'s://u:CANARY%@h', password",
        "'s://u:CANARY%4@h', password",
        "'s://u:CANARY%+1@h', password",
        "'s://u:CANARY%-1@h', password",
        "'s://u:CANARY%ff@h', password",
        "'s://CANARY%zz:p@h', user",
        "'s://h/CANARY%', path",
        "'s://h#CANARY%', #",
        "'s://h?tls=CANARY%', parameter 'tls'",
        "'s://h?=CANARY', parameter number 1",
        "'s://h?tls=1&', parameter number 2",
        "'s://h?tls=1&CAN ARY', parameter number 2",
        "'s://h?ssl=CANARY', parameter 'ssl' is unknown",
        "'s://h?TLS=CANARY', parameter 'TLS' is unknown",
        "'s://h?tls', parameter 'tls' has no value",
        "'s://h?tls=1&tls=CANARY', parameter 'tls' is given twice",
    })
    void parse_malformed_namesThePartAndRepeatsNoneOfIt(String uri, String part) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> parse(uri))
                .satisfies(e -> assertThat(e)
                        .hasNoCause()
                        .message()
                        .contains(part.replace("''", "'"))
                        .doesNotContain("CAN")
                        .doesNotContain("ARY"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "CANARY", ":CANARY@h", "p@CANARY:x", "1CANARY:x", "CAN ARY:x"})
    void schemeOf_withoutOne_repeatsNothing(String uri) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockUri.schemeOf(uri))
                .satisfies(e -> assertThat(e).message().doesNotContain("CAN"));
    }

    @Test
    void refuse_whatIsNotAskedFor_saysWhat() {
        LockUri uri = parse("s://h/path?ca=x#frag");

        assertThatIllegalArgumentException().isThrownBy(uri::refusePath).withMessageContaining("path");
        assertThatIllegalArgumentException().isThrownBy(uri::refuseFragment).withMessageContaining("#");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> uri.refuseWithoutTls("ss://", "tls", "ca"))
                .withMessageContaining("'ca' needs TLS; write ss://");
        LockUri plain = parse("s://h/");
        plain.refusePath();
        plain.refuseFragment();
        plain.refuseWithoutTls("ss://", "ca");
    }

    /** A quadratic reading of any of these takes much longer. */
    @Test
    void parse_hugeAddress_isLinear() {
        for (String piece : new String[] {"user", "%41", ":", "@", ",", "&", "a=", "?", "://", "%", "/"}) {
            String text = piece.repeat(200_000 / piece.length());
            for (String uri :
                    new String[] {"s://" + text, "s://h?" + text, "s://" + text + "@h", "s://h/" + text, text}) {
                Assertions.assertTimeout(Duration.ofSeconds(10), () -> {
                    try {
                        parse(uri);
                    } catch (IllegalArgumentException e) {
                        assertThat(e.getMessage()).hasSizeLessThan(300);
                    }
                });
            }
        }
    }
}
