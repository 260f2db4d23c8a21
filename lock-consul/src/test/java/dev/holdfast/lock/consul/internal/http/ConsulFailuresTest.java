package dev.holdfast.lock.consul.internal.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The messages for an agent's refusals and for failures of the connection. */
final class ConsulFailuresTest {

    private static RuntimeException told(Throwable failure) {
        return ConsulFailures.TRANSLATOR.translate("", new CompletionException(failure));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "401|no token|true|Consul refuses it: no token; give its token the rules",
                "403|Permission denied|true|Consul refuses it: Permission denied; give its token the rules",
                "400|Client sent an HTTP request to an HTTPS server.|true|the server speaks TLS; write consuls://",
                "400|bad value|true|Consul refuses it: bad value; check prefix and version",
                "500|Invalid Session TTL '1000000000', must be between|true|use a longer lease",
                "500|No path to datacenter|true|not of the datacenter that dc names",
                "500|Missing node registration|false|name agents of the datacenter that dc names",
                "500|No cluster leader|false|Consul has no leader",
                "500|Raft leadership lost|false|Consul has no leader",
                "500|rpc error|false|Consul answers 500, rpc error; the outcome is unknown, try again",
                "429|slow down|false|too many connections; the outcome is unknown, try again; above http_max_conns_per_client"
            })
    void answer_isTold_withWhatToDo(int status, String said, boolean configuration, String message) {
        assertThat(told(new ConsulException(status, said)))
                .isInstanceOf(configuration ? LockConfigurationException.class : LockUnavailableException.class)
                .hasMessageContaining(message);
    }

    @Test
    void failureOnTheWay_isTold() {
        assertThat(told(new IOException(new UnresolvedAddressException()))).hasMessageContaining("no address");
        assertThat(told(new ConnectException())).hasMessageContaining("no connection to a Consul agent");
        assertThat(told(new HttpConnectTimeoutException(""))).hasMessageContaining("no connection to a Consul agent");
        assertThat(told(new HttpTimeoutException(""))).hasMessageContaining("no answer from Consul in time");
        assertThat(told(new CancellationException())).hasMessageContaining("closed meanwhile");
        assertThat(told(new SSLHandshakeException("PKIX path building failed")))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("no TLS connection to Consul: PKIX");
        assertThat(told(new SSLHandshakeException("Remote host terminated the handshake")))
                .isInstanceOf(LockUnavailableException.class);
        assertThat(told(new IOException(new EOFException())))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContainingAll("closed the connection", "http_max_conns_per_client");
        assertThat(told(new IOException(new SocketException("Connection reset"))))
                .hasMessageContaining("http_max_conns_per_client");
        assertThat(told(new IOException("reset")))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("no usable answer from Consul: reset");
    }

    @Test
    void exception_isShort_andKnowsWhetherAnythingMayHaveChanged() {
        assertThat(new ConsulException(400, " a\n\tb ").text()).isEqualTo("a b");
        assertThat(new ConsulException(400, "x".repeat(200)).text()).hasSize(200);
        assertThat(new ConsulException(400, "x".repeat(201)).text())
                .hasSize(201)
                .endsWith("…");
        assertThat(new ConsulException(418, "").status()).isEqualTo(418);
        for (int status : new int[] {399, 409, 500}) {
            assertThat(new ConsulException(status, "").changedNothing())
                    .as("%d", status)
                    .isFalse();
        }
        for (int status : new int[] {400, 403, 499}) {
            assertThat(new ConsulException(status, "").changedNothing())
                    .as("%d", status)
                    .isTrue();
        }
    }
}
