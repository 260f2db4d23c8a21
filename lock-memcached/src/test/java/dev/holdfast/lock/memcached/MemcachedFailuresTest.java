package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;

import com.spotify.folsom.MemcacheAuthenticationException;
import com.spotify.folsom.MemcacheClosedException;
import com.spotify.folsom.MemcacheOverloadedException;
import com.spotify.folsom.guava.HostAndPort;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.testkit.LogCapture;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** The messages for failures of the memcached client, with the earlier failures of its connection. */
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
        assertThat(told(new MemcacheClosedException("Shutdown: by its owner")))
                .isInstanceOf(LockClosedException.class)
                .hasMessageContaining("the memcached client was closed before the lock client")
                .hasCauseInstanceOf(MemcacheClosedException.class);
        assertThat(told(new MemcacheClosedException("not a Shutdown"))).isInstanceOf(LockUnavailableException.class);
    }

    @Test
    void message_saysWhatToDo() {
        assertThat(told(new MemcacheAuthenticationException("no")))
                .hasMessageEndingWith("; give user and password as its file of -Y has them, and open a new client");
        assertThat(told(new MemcacheOverloadedException("full")))
                .hasMessageEndingWith("; check that it answers, and try again");
        assertThat(told(new IOException("reset")))
                .hasMessageEndingWith("; check that memcached runs there and can be reached, and try again");
        assertThat(told(new IOException("PKIX path")))
                .hasMessageEndingWith("; check its certificate, its host name and the trust store");
    }

    /** The first connection is what connecting waits for; only a refused login ends the client. */
    @Test
    void link_knowsTheFirstConnection_andTheLastFailure() {
        assertThat(link.first()).isNotDone();
        assertThat(link.lastFailure()).isNull();
        link.reconnectionSuccessful(HostAndPort.fromParts("h", 1), 1, true);
        assertThat(link.first()).isCompleted();
        IOException refused = new IOException("refused");
        link.connectionFailure(new CompletionException(refused));
        assertThat(link.lastFailure()).isSameAs(refused);
        assertThat(link.refused()).isFalse();
        assertThat(link.first()).isCompleted();

        Link other = new Link();
        other.connectionFailure(new CompletionException(refused));
        other.reconnectionSuccessful(HostAndPort.fromParts("h", 1), 1, true);
        assertThat(other.lastFailure()).isNull();
        assertThat(other.first())
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withCause(refused);
    }

    @Test
    void link_thatEnds_isNoWarning() {
        try (LogCapture log = new LogCapture()) {
            link.connectionLost(null, HostAndPort.fromParts("h", 1));
            link.reconnectionQueuedFromError(new IOException("refused"), HostAndPort.fromParts("h", 1), 20, 1);
            link.reconnectionCancelled();
            assertThat(log.warnings()).isEmpty();
        }
    }
}
