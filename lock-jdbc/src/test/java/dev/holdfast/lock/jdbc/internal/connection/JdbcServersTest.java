package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.sql.SQLException;
import java.util.HexFormat;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** By which first bytes each kind of database is known, and where it is looked for if the address names no port. */
final class JdbcServersTest {
    private static final SQLException FAILED = new SQLException("failed", "08001");

    private static ConnectDiagnosis diagnosis(String url) {
        return JdbcServers.diagnosis(new JdbcAddress(url), System.nanoTime() + TimeUnit.SECONDS.toNanos(30));
    }

    /** A port that takes a greeting and gives an answer, both in hexadecimal digits. */
    private static final class Port implements AutoCloseable {
        final CompletableFuture<String> greeted = new CompletableFuture<>();
        private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

        Port(int bytes, String answer) throws IOException {
            Threads.start("test-port", () -> {
                while (!server.isClosed()) {
                    try (Socket socket = server.accept()) {
                        greeted.complete(
                                HexFormat.of().formatHex(socket.getInputStream().readNBytes(bytes)));
                        socket.getOutputStream().write(HexFormat.of().parseHex(answer));
                        socket.shutdownOutput();
                        socket.getInputStream().readAllBytes();
                    } catch (IOException e) {
                        // It was only looked whether the port is open.
                    }
                }
            });
        }

        String address() {
            return "127.0.0.1:" + server.getLocalPort();
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "postgresql, 0000000804d2162f, 53, true",
        "postgresql, 0000000804d2162f, 4e, true",
        "postgresql, 0000000804d2162f, 45000000, true",
        "postgresql, 0000000804d2162f, 5353, false",
        "postgresql, 0000000804d2162f, 41, false",
        "mysql, '', 4a0000000a, true",
        "mariadb, '', 4a000000ff, true",
        "mysql, '', 4a00000009, false",
        "mysql, '', 4a000000, false",
        "h2:tcp, 0000000100000001, 00000000, true",
        "h2:tcp, 0000000100000001, 01, false"
    })
    void server_isKnownByItsFirstBytes(String kind, String greeting, String answer, boolean known) throws Exception {
        try (Port port = new Port(greeting.length() / 2, answer);
                ConnectDiagnosis diagnosis = diagnosis("jdbc:" + kind + "://" + port.address() + "/db")) {
            assertThat(diagnosis.isAnswering()).isEqualTo(known);
            assertThat(port.greeted.get(30, TimeUnit.SECONDS)).isEqualTo(greeting);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "postgresql | there is not PostgreSQL",
                "mysql | there is not a server of MySQL's or MariaDB's protocol",
                "h2:tcp | there is not H2"
            })
    void anotherServer_isNamed(String kind, String said) throws Exception {
        try (Port port = new Port(0, "21212121212121");
                ConnectDiagnosis diagnosis = diagnosis("jdbc:" + kind + "://" + port.address() + "/db")) {
            assertThat(diagnosis.explain(FAILED)).hasMessageContaining(said).hasCause(FAILED);
        }
    }

    /** H2 encrypts from the first byte, the others behind a request for it, as their drivers have it. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "h2:tcp | 150303000202 | the server speaks TLS; write jdbc:h2:ssl://, or its port without TLS",
                "postgresql | 150303000202 | the server speaks TLS; write an address of its TLS as the driver has it, or its port",
                "h2:ssl | 21212121212121 | does not speak TLS (it says '!!!!!!!'); write jdbc:h2:tcp://, or its TLS port"
            })
    void theOtherForm_isSaid(String kind, String answer, String said) throws Exception {
        try (Port port = new Port(0, answer);
                ConnectDiagnosis diagnosis = diagnosis("jdbc:" + kind + "://" + port.address() + "/db")) {
            assertThat(diagnosis.explain(FAILED)).hasMessageContaining(said);
        }
    }

    @Test
    void embedded_hasNoServer() {
        try (ConnectDiagnosis diagnosis = diagnosis("jdbc:h2:mem:x")) {
            assertThat(diagnosis.explain(FAILED))
                    .hasMessage("connecting to jdbc:h2:mem:x: failed; check the server and try again");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "jdbc:postgresql://no.such.host.invalid,127.0.0.1:1/db | no.such.host.invalid:5432: unknown host, 127.0.0.1:1: ",
                "jdbc:mysql://no.such.host.invalid,127.0.0.1:1/db | no.such.host.invalid:3306: unknown host, 127.0.0.1:1: ",
                "jdbc:mariadb://no.such.host.invalid,127.0.0.1:1 | no.such.host.invalid:3306: unknown host, 127.0.0.1:1: ",
                "jdbc:h2:tcp://no.such.host.invalid,127.0.0.1:1/x;MODE=MySQL"
                        + " | no.such.host.invalid:9092: unknown host, 127.0.0.1:1: ",
                "jdbc:mysql://no.such.host.invalid:70000,127.0.0.1:1/db | no.such.host.invalid:65535: unknown host, 127",
                "jdbc:mysql://no.such.host.invalid,[::ffff:127.0.0.1]:1/db | [::ffff:127.0.0.1]:1: connection refused",
            })
    void servers_areThoseOfTheAddress(String url, String seen) {
        try (ConnectDiagnosis diagnosis = diagnosis(url)) {
            assertThat(diagnosis.explain(FAILED))
                    .hasMessageStartingWith("connecting to " + url + ": ")
                    .hasMessageContaining(seen);
        }
    }

    /** Their details may say that they are no network's. */
    @Test
    void servers_inParentheses_areNotLookedAt() {
        try (ConnectDiagnosis diagnosis = diagnosis("jdbc:mysql://address=(host=127.0.0.1)(port=1)/db")) {
            assertThat(diagnosis.isAnswering()).isTrue();
        }
    }
}
