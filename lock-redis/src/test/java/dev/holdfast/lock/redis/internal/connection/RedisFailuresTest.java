package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.Permissions;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.RedisReadOnlyException;
import java.security.cert.CertificateException;
import java.util.List;
import java.util.concurrent.CompletionException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which answers of a server a repeated request cannot help, and what to do about them. */
final class RedisFailuresTest {

    private static RedisCommandExecutionException says(String text) {
        return new RedisCommandExecutionException(text);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "WRONGPASS invalid username-password pair|check the user name and the password",
                "NOAUTH Authentication required.|put it into the URI",
                "ERR invalid password|check the password",
                "ERR AUTH <password> called without any password configured|remove it from the URI",
                "NOPERM User x has no permissions to run the 'eval' command|RedisLocks.scripts()",
                "NOPERM User x has no permissions|run: ACL SETUSER <user> ~holdfast:{* &holdfast:c:* +evalsha",
                "ERR The user executing the script can't run this command or subcommand|run: ACL SETUSER <user>",
                "NOTOKEN holdfast:{n}|find out who wrote it",
                "ERR can't access one of the keys|run: ACL SETUSER <user> ~holdfast:{*",
                "NOPERM User x has no permissions to run the 'scan' command|only listings need it; run: ACL SETUSER <user> +scan",
                "ERR DB index is out of range|choose another number",
                "ERR invalid DB index|choose another number",
                "ERR This instance has cluster support disabled|write redis:// for it",
                "WRONGTYPE Operation against a key|choose another prefix",
                "ERR unknown command 'SENTINEL', with args|no Sentinel",
                "ERR unknown command `SENTINEL`, with args|no Sentinel",
                "ERR unknown command 'EVALSHA'|lacks or has renamed",
                "ERR Unknown Redis command called from script|lacks or has renamed",
                "CROSSSLOT Keys in request don't hash to the same slot|redis-cluster://",
                "MOVED 3999 127.0.0.1:6381|redis-cluster://"
            })
    void refusal_isOfConfiguration_withItsRemedy(String said, String remedy) {
        RuntimeException told = RedisFailures.TRANSLATOR.translate("", new CompletionException(says(said)));
        assertThat(told)
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("Redis refuses it: " + said)
                .hasMessageContaining(remedy);
        assertThat(RedisFailures.isRefusal(says(said))).isTrue();
    }

    /** The message has the line that the page has, whose sufficiency another test shows. */
    @Test
    void missingRight_isToldWithTheDocumentedLine() throws Exception {
        String told =
                RedisFailures.TRANSLATOR.translate("", says("NOPERM User x")).getMessage();
        for (String right : Permissions.ofCluster()) {
            if (!List.of("resetkeys", "resetchannels", "-@all", "+scan").contains(right)) {
                assertThat(told).contains(" " + right);
            }
        }
    }

    @Test
    void whatMayPass_isUnavailable() {
        for (RuntimeException passing : new RuntimeException[] {
            says("LOADING Redis is loading the dataset in memory"),
            says("TRYAGAIN Multiple keys request during rehashing of slot"),
            new RedisConnectionException("Unable to connect: WRONGPASS is what its log says"),
            new RedisCommandExecutionException((String) null)
        }) {
            assertThat(RedisFailures.isRefusal(passing)).isFalse();
            assertThat(RedisFailures.TRANSLATOR.translate("", passing)).isInstanceOf(LockUnavailableException.class);
        }
    }

    @Test
    void refusal_ofOneNodeOfACluster_isFound() {
        RedisConnectionException all = new RedisConnectionException("Cannot obtain the topology");
        RedisConnectionException node = new RedisConnectionException("node 2", says("NOAUTH Authentication required."));
        all.addSuppressed(new RedisConnectionException("node 1"));
        all.addSuppressed(node);
        all.addSuppressed(says("WRONGTYPE another"));
        assertThat(RedisFailures.isRefusal(all)).isTrue();
        assertThat(RedisFailures.TRANSLATOR.translate("", all)).hasMessageContaining("asks for a password");
        RedisCommandExecutionException own = says("WRONGPASS");
        own.addSuppressed(node);
        assertThat(RedisFailures.TRANSLATOR.translate("", own)).hasMessageContaining("check the user name");
    }

    @Test
    void tls_isOfConfiguration_unlessItTimedOut() {
        assertThat(RedisFailures.TRANSLATOR.translate("", new SSLException("not an SSL/TLS record: 2d45")))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage("the server does not speak TLS; write redis://, or its TLS port");
        for (Exception refused : new Exception[] {
            new SSLHandshakeException("no subject alternative names"), new CertificateException("no subject")
        }) {
            assertThat(RedisFailures.TRANSLATOR.translate("", refused))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageStartingWith("the TLS handshake failed: no subject");
        }
        assertThat(RedisFailures.TRANSLATOR.translate("", new SSLException("handshake timed out after 10000ms")))
                .isInstanceOf(LockUnavailableException.class);
    }

    @Test
    void kinds_areToldApart() {
        assertThat(RedisFailures.isReadOnly(new CompletionException(new RedisReadOnlyException("READONLY"))))
                .isTrue();
        assertThat(RedisFailures.isReadOnly(says("ERR script: READONLY You can't write")))
                .isTrue();
        assertThat(RedisFailures.isReadOnly(new IllegalStateException("READONLY")))
                .isFalse();
        assertThat(RedisFailures.isTryAgain(new CompletionException(says("TRYAGAIN Multiple"))))
                .isTrue();
        assertThat(RedisFailures.isTryAgain(says("ERR TRYAGAIN"))).isFalse();
        assertThat(RedisFailures.isMoved(says("MOVED 1 h:1"))).isTrue();
        assertThat(RedisFailures.isMoved(says("ERR MOVED 1 h:1"))).isFalse();
        assertThat(RedisFailures.isUnknownScript(new CompletionException(new RedisNoScriptException("NOSCRIPT"))))
                .isTrue();
        assertThat(RedisFailures.isUnknownScript(says("NOSCRIPT"))).isFalse();
    }

    @Test
    void endWithoutAWord_isNoticedWhereverItIs() {
        for (String said : List.of("Connection closed prematurely", "RedisHandshakeHandler not registered")) {
            RuntimeException end = new IllegalStateException(said);
            RuntimeException cluster = new IllegalStateException("no node");
            cluster.addSuppressed(new IllegalStateException("cannot", end));
            for (RuntimeException failure : List.of(end, new IllegalStateException("cannot", end), cluster)) {
                assertThat(RedisFailures.isUntold(failure)).isTrue();
            }
        }
        assertThat(RedisFailures.isUntold(new IllegalStateException("cannot", says("WRONGPASS"))))
                .isFalse();
    }
}
