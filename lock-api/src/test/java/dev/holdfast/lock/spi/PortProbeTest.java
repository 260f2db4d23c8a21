package dev.holdfast.lock.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Findings at a port: the store, TLS or not, another server, no answer; and their remedies. */
final class PortProbeTest {
    private static final byte[] HELLO = "HI\n".getBytes(StandardCharsets.US_ASCII);
    private static final Greeting GREETING =
            new Greeting("Store", HELLO, said -> new String(said, StandardCharsets.US_ASCII).startsWith("+OK"));

    private static PortProbe.Finding look(boolean tls, LockUri.Host host, long millis) {
        return new PortProbe(GREETING, tls, "other://")
                .look(host, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
    }

    private static PortProbe.Finding look(boolean tls, ScriptedServer server) {
        return look(tls, server.host(), 20_000);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "+OK 1|||false",
                "-ERR\u0007 what|the server there is not Store (it says '-ERR? what')|check the port|true",
                "abcdefghijklmnopqrstuvwxyz|the server there is not Store (it says 'abcdefghijklmnopqrst')|check the port|true",
                "HTTP/1.1 400|a web server or a proxy answers there (it says 'HTTP/1.1 400')|check the port and the proxy|false"
            })
    void inClear_anAnswer_isTold(String answer, String observation, String remedy, boolean lasting) throws IOException {
        try (ScriptedServer server = ScriptedServer.saying(answer)) {
            PortProbe.Finding finding = look(false, server);
            assertThat(finding).isEqualTo(new PortProbe.Finding(observation, remedy == null ? "" : remedy, lasting));
        }
    }

    @Test
    void inClear_aTlsAlert_isTold_andNothingLess() throws IOException {
        try (ScriptedServer server = new ScriptedServer(hello -> new byte[] {0x15, 3})) {
            assertThat(look(false, server))
                    .isEqualTo(new PortProbe.Finding(
                            "the server speaks TLS", "write other://, or its port without TLS", true));
        }
        for (byte[] other : List.of(new byte[] {0x15, 'x'}, new byte[] {0x15})) {
            try (ScriptedServer server = new ScriptedServer(hello -> other)) {
                assertThat(look(false, server).observation()).startsWith("the server there is not Store (it says '?");
            }
        }
    }

    @Test
    void inClear_theStoresHelloIsSent() throws IOException {
        List<String> said = new CopyOnWriteArrayList<>();
        try (ScriptedServer server = new ScriptedServer(hello -> {
            said.add(new String(hello, StandardCharsets.US_ASCII));
            return "+OK".getBytes(StandardCharsets.US_ASCII);
        })) {
            assertThat(look(false, server)).isEqualTo(PortProbe.Finding.NONE);
            assertThat(said).containsExactly("HI\n");
        }
    }

    @Test
    void inClear_closedAtOnce_isTold() throws IOException {
        try (ScriptedServer server = new ScriptedServer(hello -> null)) {
            assertThat(look(false, server).observation()).isEqualTo("the server closes the connection at once");
            assertThat(look(false, server).lasting()).isFalse();
        }
    }

    @Test
    void inClear_silence_isTold_withinTheDeadline() throws IOException {
        try (ScriptedServer server = new ScriptedServer(hello -> ScriptedServer.NOTHING)) {
            long start = System.nanoTime();
            assertThat(look(false, server.host(), 300).observation())
                    .isEqualTo("the server accepts connections and does not answer");
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(20));
        }
    }

    @Test
    void inClear_closesOrKeepsSilent_butAnswersATlsHandshake_speaksTls() throws IOException {
        for (byte[] other : Arrays.asList(null, ScriptedServer.NOTHING)) {
            try (ScriptedServer server =
                    new ScriptedServer(hello -> ScriptedServer.isTls(hello) ? ScriptedServer.ALERT : other)) {
                PortProbe.Finding finding = look(false, server.host(), 10_000);
                assertThat(finding.observation()).isEqualTo("the server speaks TLS");
                assertThat(finding.remedy()).startsWith("write other://");
                assertThat(finding.lasting()).isTrue();
            }
        }
    }

    @Test
    void encrypted_aTlsServer_isNothingToTell() throws IOException {
        try (ScriptedServer server =
                new ScriptedServer(hello -> ScriptedServer.isTls(hello) ? ScriptedServer.ALERT : null)) {
            assertThat(look(true, server)).isEqualTo(PortProbe.Finding.NONE);
        }
    }

    /** A port that refuses this handshake, but answers other bytes with an alert. */
    @Test
    void encrypted_anAlertInAnswerToClearText_isNothingToTell() throws IOException {
        try (ScriptedServer server =
                new ScriptedServer(hello -> ScriptedServer.isTls(hello) ? null : ScriptedServer.ALERT)) {
            assertThat(look(true, server)).isEqualTo(PortProbe.Finding.NONE);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "+OK 1|the server does not speak TLS (it says '+OK 1')|write other://, or its TLS port|true",
                "-ERR|the server does not speak TLS (it says '-ERR')|write other://, or its TLS port|true",
                "HTTP/1.1 400|no TLS, a web server or a proxy answers there|check the port|false"
            })
    void encrypted_anAnswerInClear_isTold(String answer, String observation, String remedy, boolean lasting)
            throws IOException {
        try (ScriptedServer server = ScriptedServer.saying(answer)) {
            assertThat(look(true, server)).isEqualTo(new PortProbe.Finding(observation, remedy, lasting));
        }
    }

    @Test
    void encrypted_anAnswerInClear_ofOneThatWaitsForTheRestOfAHandshake_isTold() throws IOException {
        byte[] answer = "+OK".getBytes(StandardCharsets.US_ASCII);
        try (ScriptedServer server =
                new ScriptedServer(hello -> ScriptedServer.isTls(hello) ? ScriptedServer.NOTHING : answer)) {
            long start = System.nanoTime();
            assertThat(look(true, server.host(), 6_000).observation())
                    .isEqualTo("the server does not speak TLS (it says '+OK')");
            assertThat(System.nanoTime() - start)
                    .as("half of the time is for the handshake")
                    .isLessThan(TimeUnit.SECONDS.toNanos(6));
        }
    }

    @Test
    void encrypted_closedOrSilent_isTold() throws IOException {
        try (ScriptedServer server = new ScriptedServer(hello -> null)) {
            assertThat(look(true, server))
                    .isEqualTo(new PortProbe.Finding(
                            "the server ends the TLS handshake", "check the port, or the proxy", false));
        }
        try (ScriptedServer server = new ScriptedServer(hello -> ScriptedServer.NOTHING)) {
            assertThat(look(true, server.host(), 400).observation())
                    .isEqualTo("the server accepts connections and does not answer");
        }
    }

    @Test
    void nobodyThere_isTold() throws IOException {
        LockUri.Host free;
        try (ServerSocket port = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            free = new LockUri.Host("127.0.0.1", port.getLocalPort());
        }
        for (boolean tls : new boolean[] {false, true}) {
            assertThat(look(tls, free, 20_000))
                    .isEqualTo(new PortProbe.Finding(
                            "connection refused", "check host and port, and that the server runs", false));
            assertThat(look(tls, new LockUri.Host("no.such.host.invalid", 1), 20_000))
                    .isEqualTo(new PortProbe.Finding("unknown host", "check the host's name", false));
        }
    }
}
