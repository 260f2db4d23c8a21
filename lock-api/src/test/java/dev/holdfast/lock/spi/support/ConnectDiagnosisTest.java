package dev.holdfast.lock.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.ScriptedServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** The explanation of a failed connection: from the failure if it is recognised, otherwise from the servers' ports. */
final class ConnectDiagnosisTest {
    private static final Greeting GREETING = new Greeting(
            "Store", new byte[] {'?'}, said -> new String(said, StandardCharsets.US_ASCII).startsWith("+"));
    private static final IllegalStateException OURS = new IllegalStateException("a bug");
    private static final FailureTranslator FAILURES = new FailureTranslator("Store", cause -> {
        if (cause instanceof SecurityException) {
            return new Remedy.Configuration("Store refuses the login", "correct the password");
        }
        return cause == OURS ? new Remedy.PassThrough(OURS) : null;
    });

    private static ConnectDiagnosis of(long millis, LockUri.Host... servers) {
        return new ConnectDiagnosis(
                new ConnectDiagnosis.Target("store://h", List.of(servers), false, "stores://"),
                GREETING,
                FAILURES,
                System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
    }

    private static LockUri.Host refused() throws IOException {
        try (ServerSocket port = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return new LockUri.Host("127.0.0.1", port.getLocalPort());
        }
    }

    @Test
    void knownFailure_isToldWithoutALook() throws IOException {
        LockClosedException closed = new LockClosedException("closed");
        try (ScriptedServer server = ScriptedServer.saying("HTTP/1.1 400");
                ConnectDiagnosis diagnosis = of(600_000, server.host())) {
            assertThat(diagnosis.explain(new CompletionException(new SecurityException())))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessage("connecting to store://h: Store refuses the login; correct the password");
            assertThat(diagnosis.explain(new CompletionException(closed))).isSameAs(closed);
            assertThat(diagnosis.explain(OURS)).isSameAs(OURS);
            assertThat(server.connections()).isZero();
        }
    }

    @Test
    void whatIsSeen_isTheMessage_ofTheKindThatFits() throws IOException {
        IOException cut = new IOException("cut");
        try (ConnectDiagnosis diagnosis = of(30_000, refused())) {
            assertThat(diagnosis.explain(cut))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessage("connecting to store://h: connection refused;"
                            + " check host and port, and that the server runs")
                    .hasCause(cut);
            assertThat(diagnosis.isAnswering()).isFalse();
        }
        try (ScriptedServer server = ScriptedServer.saying("-what");
                ConnectDiagnosis diagnosis = of(30_000, server.host())) {
            assertThat(diagnosis.explain(cut))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessage("connecting to store://h: the server there is not Store (it says '-what');"
                            + " check the port")
                    .hasCause(cut);
        }
    }

    @Test
    void serverInClear_whereTlsIsAskedFor_isTold() throws IOException {
        try (ScriptedServer server = ScriptedServer.saying("+OK 1");
                ConnectDiagnosis diagnosis = new ConnectDiagnosis(
                        new ConnectDiagnosis.Target("stores://h", List.of(server.host()), true, "store://"),
                        GREETING,
                        FAILURES,
                        System.nanoTime() + TimeUnit.SECONDS.toNanos(30))) {
            assertThat(diagnosis.explain(new IOException("cut")))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessage("connecting to stores://h: the server does not speak TLS (it says '+OK 1');"
                            + " write store://, or its TLS port");
        }
    }

    @Test
    void storeAnswers_orNobodyIsToBeLookedAt_theRootCauseIsTold() throws IOException {
        try (ScriptedServer server = ScriptedServer.saying("+OK");
                ConnectDiagnosis diagnosis = of(30_000, refused(), server.host())) {
            assertThat(diagnosis.isAnswering()).isTrue();
            assertThat(diagnosis.explain(new IllegalStateException("outer", new IOException("inner"))))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessage("connecting to store://h: inner; check the server and try again");
        }
        try (ConnectDiagnosis diagnosis = of(30_000)) {
            assertThat(diagnosis.explain(new TimeoutException()))
                    .hasMessage(
                            "connecting to store://h: not ready in time; if the server answers others, this machine is busy: try"
                                    + " again, or set a longer requestTimeout");
        }
    }

    @Test
    void severalServers_allAreTold_andLastingOnlyIfAllAre() throws IOException {
        LockUri.Host free = refused();
        try (ScriptedServer other = ScriptedServer.saying("-what");
                ScriptedServer more = ScriptedServer.saying("-why");
                ConnectDiagnosis mixed = of(30_000, free, other.host());
                ConnectDiagnosis lasting = of(30_000, other.host(), more.host());
                ConnectDiagnosis alike = of(30_000, free, free)) {
            assertThat(mixed.explain(new IOException()))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessage("connecting to store://h: 127.0.0.1:" + free.port()
                            + ": connection refused, 127.0.0.1:" + other.host().port()
                            + ": the server there is not Store (it says '-what');"
                            + " check host and port, and that the server runs");
            assertThat(lasting.explain(new IOException())).isInstanceOf(LockConfigurationException.class);
            assertThat(alike.explain(new IOException()))
                    .hasMessageStartingWith("connecting to store://h: connection refused; ");
        }
    }

    @Test
    void look_beginsAfterAThirdOfTheTime_orNot_ifItIsClosedBefore() throws IOException {
        long millis = 300;
        while (!isSeenToAnswer(millis)) {
            millis *= 4; // the machine may pause for longer than that
            assertThat(millis).as("enough for the answer").isLessThan(10_000);
        }
        try (ScriptedServer server = ScriptedServer.saying("-what")) {
            ConnectDiagnosis closed = of(600_000, server.host());
            closed.close();
            assertThat(closed.isAnswering()).as("no server was probed").isTrue();
            assertThat(server.connections()).isZero();
        }
    }

    private static boolean isSeenToAnswer(long millis) throws IOException {
        try (ScriptedServer server = ScriptedServer.saying("+OK");
                ConnectDiagnosis diagnosis = of(millis, server.host())) {
            await().atMost(Duration.ofSeconds(30)).until(() -> server.connections() > 0);
            if (!diagnosis.isAnswering()) {
                return false; // the probe continues with a TLS handshake over another connection
            }
            assertThat(server.connections()).as("one check for all").isEqualTo(1);
            return true;
        }
    }

    @Test
    void silentServer_isToldAtTheDeadline() throws IOException {
        try (ScriptedServer server = new ScriptedServer(hello -> ScriptedServer.NOTHING);
                ConnectDiagnosis diagnosis = of(200, server.host())) {
            assertThat(diagnosis.explain(new IOException()))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("answer; check the server");
        }
    }

    @Test
    void interrupted_endsTheWait_andKeepsTheInterrupt() throws IOException {
        try (ScriptedServer server = new ScriptedServer(hello -> ScriptedServer.NOTHING);
                ConnectDiagnosis diagnosis = of(600_000, server.host())) {
            Thread.currentThread().interrupt();
            assertThat(diagnosis.isAnswering()).isTrue();
            assertThat(Thread.interrupted()).isTrue();
            assertThat(Thread.getAllStackTraces().keySet())
                    .filteredOn(thread -> thread.getName().equals("holdfast-connect-diagnosis"))
                    .as("requests that still wait for the server")
                    .isNotEmpty()
                    .allMatch(Thread::isDaemon);
        }
    }

    @Test
    void target_keepsTheFirstEightServers() {
        List<LockUri.Host> hosts = new ArrayList<>(Collections.nCopies(9, new LockUri.Host("h", 1)));
        ConnectDiagnosis.Target target = new ConnectDiagnosis.Target("a", hosts, true, "b");
        assertThat(target.servers()).hasSize(8);
        hosts.clear();
        assertThat(target.servers()).hasSize(8);
        assertThat(new ConnectDiagnosis.Target("a", List.of(), true, "b").servers())
                .isEmpty();
    }
}
