package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;

import com.spotify.folsom.MemcacheAuthenticationException;
import com.spotify.folsom.MemcacheClosedException;
import com.spotify.folsom.MemcacheOverloadedException;
import com.spotify.folsom.guava.HostAndPort;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import java.io.IOException;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** What is said of failures of the memcached client, with what its connection has told before. */
final class MemcachedFailuresTest {
    private final Link link = new Link();

    private RuntimeException told(Throwable failure) {
        return MemcachedFailures.of("memcached at h:1", link).translate("", new CompletionException(failure));
    }

    @Test
    void login_isOfConfiguration() {
        assertThat(told(new MemcacheAuthenticationException("no")))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("h:1 refuses the login");
        link.connectionFailure(new CompletionException(new MemcacheAuthenticationException("no")));
        assertThat(told(new MemcacheClosedException("Disconnected")))
                .as("the client does not try again")
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("h:1 refuses the login");
    }

    @Test
    void whatMayPass_isUnavailable() {
        assertThat(told(new MemcacheOverloadedException("full")))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("too many requests wait for memcached at h:1");
        assertThat(told(new MemcacheClosedException("Disconnected")))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("no connection to memcached at h:1 (Disconnected)");
        link.connectionFailure(new IOException("refused"));
        assertThat(told(new IOException("reset"))).hasMessageContaining("(refused, reset)");
        IOException same = new IOException("again");
        link.connectionFailure(same);
        assertThat(told(same)).hasMessageContaining("(again)");
        link.reconnectionSuccessful(HostAndPort.fromParts("h", 1), 1, true);
        assertThat(told(new IOException("reset"))).hasMessageContaining("(reset)");
        assertThat(told(new IllegalStateException("odd")))
                .hasMessageContaining("no usable answer from memcached at h:1");
    }

    @Test
    void untrusted_isOfConfiguration() {
        for (String said : new String[] {"PKIX path", "bad certificate", "No subject alternative names"}) {
            assertThat(told(new IOException(said)))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("h:1 cannot be trusted: " + said);
        }
        link.connectionFailure(new IOException("PKIX path"));
        assertThat(told(new MemcacheClosedException("Disconnected"))).isInstanceOf(LockConfigurationException.class);
    }

    @Test
    void closedClient_isClosed() {
        assertThat(told(new MemcacheClosedException("Shutdown: by its owner"))).isInstanceOf(LockClosedException.class);
    }
}
