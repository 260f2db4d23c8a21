package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Passwords are masked in their own places; user, database and causes stay readable. */
final class SafeMessagesTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // equal to, or part of, what is shown anyway
                "shop | shop | database \"shop\" does not exist | database \"shop\" does not exist",
                "app | shop | role \"app\" of database \"shop\" | role \"app\" of database \"shop\"",
                "post | shop | org.postgresql is there | org.postgresql is there",
                // but not behind its name
                "shop | shop | bad url ?user=app&password=shop | bad url ?user=app&password=***",
                "shop | shop | {sslPassword: 'shop', db: 'shop'} | {sslPassword: '***', db: 'shop'}",
                // short ones as words only
                "data | shop | database said data | database said ***",
                "canary-5 | shop | xcanary-5y | x***y",
                "s3cret-long | shop | \"s3cret-long\" | \"***\"",
                "$1\\x | shop | it is $1\\x | it is ***",
                "abc | shop | password abc, password=abc | password abc, password=***",
            })
    void password_isMaskedInItsOwnPlacesOnly(String password, String database, String said, String masked) {
        JdbcAddress address = new JdbcAddress("jdbc:postgresql://h/" + database + "?user=app&password="
                + java.net.URLEncoder.encode(password, java.nio.charset.StandardCharsets.UTF_8)
                + "&sslpassword="
                + java.net.URLEncoder.encode(password, java.nio.charset.StandardCharsets.UTF_8));
        RuntimeException before = new LockUnavailableException(
                "connecting: " + said, new SQLException(said, "3D000", 7, new IllegalStateException(said)));

        RuntimeException after = SafeMessages.without(address, before);

        assertThat(after).isInstanceOf(LockUnavailableException.class).hasMessage("connecting: " + masked);
        assertThat(after.getCause()).isInstanceOfSatisfying(SQLException.class, sql -> {
            assertThat(sql.getMessage()).endsWith(masked);
            assertThat(sql.getSQLState()).isEqualTo("3D000");
            assertThat(sql.getErrorCode()).isEqualTo(7);
            assertThat(sql.getCause()).hasMessageEndingWith(masked);
            assertThat(sql.getStackTrace()).isEqualTo(before.getCause().getStackTrace());
        });
        if (said.equals(masked)) {
            assertThat(after).isSameAs(before);
        }
    }

    @Test
    void secret_inSuppressedOrNextExceptions_isGone() {
        JdbcAddress address = new JdbcAddress("jdbc:postgresql://h/shop?user=app&password=canary-secret");
        SQLException cause = new SQLException("first");
        cause.setNextException(new SQLException("next canary-secret"));
        cause.addSuppressed(new IllegalStateException("suppressed canary-secret"));
        StringWriter trace = new StringWriter();

        SafeMessages.without(address, new LockUnavailableException("x", cause)).printStackTrace(new PrintWriter(trace));

        assertThat(trace.toString()).contains("first").doesNotContain("canary-secret");
    }

    /** Wherever it is, it makes the exception another one; where it is nowhere, the exception stays itself. */
    @Test
    void secret_inAnyPlaceAlone_isFound() {
        JdbcAddress address = new JdbcAddress("jdbc:postgresql://h/shop?user=app&password=canary-secret");
        SQLException next = new SQLException("first");
        next.setNextException(new SQLException("next canary-secret"));
        SQLException suppressed = new SQLException("first");
        suppressed.addSuppressed(new IllegalStateException("suppressed canary-secret"));
        SQLException cause = new SQLException("first", new IllegalStateException("cause canary-secret"));
        for (SQLException telling : List.of(next, suppressed, cause)) {
            for (RuntimeException before : List.of(
                    new LockUnavailableException("x", telling),
                    new LockConfigurationException("x", telling),
                    new LockException("x", telling))) {
                RuntimeException after = SafeMessages.without(address, before);
                StringWriter trace = new StringWriter();
                after.printStackTrace(new PrintWriter(trace));
                assertThat(after).hasSameClassAs(before).hasMessage("x").isNotSameAs(before);
                assertThat(trace.toString()).contains("first").doesNotContain("canary-secret");
            }
        }
        SQLException plain = new SQLException("first", new IllegalStateException("cause"));
        plain.setNextException(new SQLException("next"));
        plain.addSuppressed(new IllegalStateException("suppressed"));
        RuntimeException innocent = new LockUnavailableException("x", plain);
        assertThat(SafeMessages.without(address, innocent)).isSameAs(innocent);
    }

    /** Whatever a driver calls it. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "password",
                "trustCertificateKeyStorePassword",
                "sslpasswd",
                "pwd",
                "clientSecret",
                "accessToken",
                "credentialFile"
            })
    void secret_ofAnyName_isMasked(String name) {
        JdbcAddress address =
                new JdbcAddress("jdbc:postgresql://h/shop?user=app&" + name + "=canary-secret&other=of-nobody");
        assertThat(SafeMessages.without(address, new LockException("canary-secret of-nobody app")))
                .isExactlyInstanceOf(LockException.class)
                .hasMessage("*** of-nobody app")
                .hasNoCause();
    }

    @Test
    void secret_thatIsEmpty_hidesNothing() {
        JdbcAddress address = new JdbcAddress("jdbc:postgresql://h/shop?user=app&password=");
        RuntimeException before = new LockException("password= is wrong");
        assertThat(SafeMessages.without(address, before)).isSameAs(before);
    }

    /** Sevens are words, eights are everywhere; threes are masked behind their names alone, in each way to write that. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "seven77 | xseven77 seven77x (seven77) | xseven77 seven77x (***)",
                "eight888 | xeight888x | x***x",
                "thr | a thr, pwd: thr, Password = \"thr\" | a thr, pwd: ***, Password = \"***\"",
                "four | threefour four | threefour ***"
            })
    void secret_isMaskedByItsLength(String secret, String said, String masked) {
        JdbcAddress address = new JdbcAddress("jdbc:postgresql://h/shop?password=" + secret);
        assertThat(SafeMessages.without(address, new LockException(said))).hasMessage(masked);
    }

    /** Others cannot catch what a driver's own class was; its name is in the text. */
    @Test
    void causes_saySoftlyWhatTheyWere() {
        JdbcAddress address = new JdbcAddress("jdbc:postgresql://h/shop?password=canary-secret");
        RuntimeException before = new IllegalStateException(
                "canary-secret",
                new IllegalArgumentException("canary-secret", new SQLException("canary-secret", "08001")));
        RuntimeException after = SafeMessages.without(address, before);
        assertThat(after).isExactlyInstanceOf(LockException.class).hasMessage("***");
        assertThat(after.getCause())
                .isExactlyInstanceOf(Exception.class)
                .hasMessage("java.lang.IllegalArgumentException: ***");
        assertThat(after.getCause().getCause())
                .isExactlyInstanceOf(SQLException.class)
                .hasMessage("java.sql.SQLException: ***");
    }

    /** As made by drivers that wrap a failure for their caller. */
    @Test
    void failures_inACircle_areGoneThroughOnce() {
        JdbcAddress address = new JdbcAddress("jdbc:postgresql://h/shop?user=app&password=canary-secret");
        SQLException causes = new SQLException("first");
        causes.initCause(new IllegalStateException("second", causes));
        SQLException suppressed = new SQLException("first");
        IllegalStateException other = new IllegalStateException("second");
        suppressed.addSuppressed(other);
        other.addSuppressed(suppressed);
        SQLException next = new SQLException("first");
        SQLException behind = new SQLException("second");
        next.setNextException(behind);
        behind.setNextException(next);
        for (SQLException circle : List.of(causes, suppressed, next)) {
            RuntimeException innocent = new LockUnavailableException("x", circle);
            assertThat(SafeMessages.without(address, innocent)).isSameAs(innocent);
        }
        RuntimeException masked =
                SafeMessages.without(address, new LockUnavailableException("it is canary-secret", causes));
        assertThat(masked).hasMessage("it is ***");
        assertThat(masked.getCause()).hasMessageContaining("first");
    }
}
