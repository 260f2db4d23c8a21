package dev.holdfast.lock.memcached;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.spotify.folsom.MemcacheAuthenticationException;
import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.guava.HostAndPort;
import com.spotify.folsom.reconnect.ReconnectionListener;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A client that reports neither a connection nor a failure is replaced by the next request after a while. */
final class HealingClientTest {
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final HostAndPort ADDRESS = HostAndPort.fromParts("h", 1);

    private final AtomicLong nanos = new AtomicLong();
    private final ConnectionState link = new ConnectionState(nanos::get);
    private final ScriptedMemcached first = new ScriptedMemcached();
    private final ScriptedMemcached second = new ScriptedMemcached();
    private final AtomicInteger made = new AtomicInteger();
    private final ReconnectionListener ofFirst = link.ofNewClient();
    private final AtomicBoolean threadHasEnded = new AtomicBoolean();
    private final MemcacheClient<byte[]> client = HealingClient.of(
            first.client(),
            () -> {
                made.incrementAndGet();
                threadHasEnded.set(false);
                link.ofNewClient();
                return second.client();
            },
            threadHasEnded::get,
            link,
            PATIENCE);
    private final ConnectionCounter connections = new ConnectionCounter();

    private void pass(long seconds) {
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(seconds));
    }

    private void ask() {
        client.add("key", "x".getBytes(UTF_8), 1);
    }

    @Test
    void silence_afterALostConnection_isEndedByANewClient_andIsAnotherConnection() {
        client.registerForConnectionChanges(connections);
        ofFirst.reconnectionSuccessful(ADDRESS, 1, true);
        pass(3_600);
        ask();
        ofFirst.connectionLost(null, ADDRESS);
        pass(10);
        ask();
        assertThat(first.asked()).hasSize(2);
        assertThat(connections.number()).isZero();

        pass(1);
        ask();
        ask();

        assertThat(made).hasValue(1);
        assertThat(first.asked()).isEmpty();
        assertThat(second.asked()).hasSize(2);
        assertThat(first.isShutDown()).isTrue();
        assertThat(connections.number()).isEqualTo(1);
        second.reconnect();
        assertThat(connections.number()).as("reports of the new client").isEqualTo(2);
        ofFirst.reconnectionSuccessful(ADDRESS, 1, true);
        pass(11);
        ask();
        assertThat(made)
                .as("made, since the first client's reports do not count any more")
                .hasValue(2);
    }

    /** Folsom reports nothing then: its connection looks alive. */
    @Test
    void threadThatHasEnded_isReplacedAtOnce_andIsAnotherConnection() {
        client.registerForConnectionChanges(connections);
        ofFirst.reconnectionSuccessful(ADDRESS, 1, true);
        ask();
        threadHasEnded.set(true);
        ask();
        ask();
        assertThat(made).hasValue(1);
        assertThat(first.isShutDown()).isTrue();
        assertThat(second.asked()).hasSize(2);
        assertThat(connections.number()).isEqualTo(1);
    }

    @Test
    void failures_showThatTheClientGoesOn() {
        ofFirst.connectionLost(null, ADDRESS);
        for (int i = 0; i < 5; i++) {
            pass(9);
            ofFirst.connectionFailure(new IOException("refused"));
            pass(9);
            ofFirst.reconnectionQueuedFromError(new IOException("refused"), ADDRESS, 60_000, i);
            pass(69);
            ask();
        }
        assertThat(made).hasValue(0);
    }

    @Test
    void refusedLogin_andClosing_areFinal() {
        client.shutdown();
        ofFirst.connectionLost(null, ADDRESS);
        pass(60);
        ask();
        assertThat(made).as("made after closing").hasValue(0);

        ConnectionState refused = new ConnectionState(nanos::get);
        refused.ofNewClient().connectionFailure(new MemcacheAuthenticationException("no"));
        pass(60);
        assertThat(refused.isSilentFor(PATIENCE)).isFalse();
    }
}
