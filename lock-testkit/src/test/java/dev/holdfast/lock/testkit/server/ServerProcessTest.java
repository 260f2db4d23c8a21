package dev.holdfast.lock.testkit.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.lock.testkit.server.process.LoopbackPorts;
import dev.holdfast.lock.testkit.server.process.ServerBinary;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ServerProcessTest {

    private static final int PATIENT_MILLIS = 20_000;

    @Test
    void start_untilReady_answersAndRestartsOnTheSamePort() throws Exception {
        try (ServerProcess server = start()) {
            assertThat(ask(server.port())).isEqualTo("echo hello");
            long first = server.pid();
            server.restart();
            assertThat(server.pid()).isNotEqualTo(first);
            assertThat(ProcessHandle.of(first).map(ProcessHandle::isAlive)).isNotEqualTo(Optional.of(true));
            assertThat(ask(server.port())).isEqualTo("echo hello");
        }
    }

    /** Tests that keep all processors busy hold no server up, if this user may say so. */
    @Test
    void start_hasThePriorityThatTheBuildGivesIt() throws Exception {
        String nice = System.getProperty("holdfast.servers.nice", "0");
        Process allowed = new ProcessBuilder("nice", "-n", nice, "nice").start();
        try (ServerProcess server = start()) {
            String stat = Files.readString(Path.of("/proc/" + server.pid() + "/stat"));
            String[] afterName = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            assertThat(afterName[16])
                    .isEqualTo(new String(allowed.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip());
        }
    }

    @Test
    void pause_thenResume_answersLate() throws Exception {
        try (ServerProcess server = start();
                LineServer.Client client = new LineServer.Client(server.port(), PATIENT_MILLIS)) {
            assertThat(client.ask("before")).isEqualTo("echo before");
            server.pause();
            client.patience(300);
            assertThatThrownBy(() -> client.ask("while paused")).isInstanceOf(SocketTimeoutException.class);
            server.resume();
            try (LineServer.Client patient = new LineServer.Client(server.port(), PATIENT_MILLIS)) {
                assertThat(patient.ask("after")).isEqualTo("echo after");
            }
        }
    }

    @Test
    void kill_leavesTheFolder_closeDeletesIt() throws Exception {
        ServerProcess server = start();
        long pid = server.pid();
        server.kill();
        assertThat(server.isAlive()).isFalse();
        assertThat(Files.exists(server.environment().log())).isTrue();
        server.start();
        server.close();
        server.close();
        assertThat(server.isAlive()).isFalse();
        assertThat(ProcessHandle.of(pid).map(ProcessHandle::isAlive)).isNotEqualTo(Optional.of(true));
        assertThat(Files.exists(server.environment().folder())).isFalse();
        assertThatThrownBy(server::start)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void kill_whilePaused_ends() throws Exception {
        try (ServerProcess server = start()) {
            server.pause();
            server.kill();
            assertThat(server.isAlive()).isFalse();
        }
    }

    @Test
    void unprivileged_asRoot_runsAsAnotherUserThatOwnsTheFolder() throws Exception {
        try (ServerProcess server = ServerProcess.builder("id")
                .unprivileged()
                .prepare(environment -> {
                    environment.write("conf/a.conf", "x");
                    environment.run("sh", "-c", "echo prepared > conf/b.conf");
                    assertThat(environment.run("id", "-u").trim()).isNotEqualTo("0");
                })
                .command(environment -> LineServer.command(environment.port()))
                .start()) {
            assertThat(Files.readString(server.environment().folder().resolve("conf/b.conf")))
                    .isEqualTo("prepared\n");
            assertThat(Files.readString(server.environment().log())).doesNotContain("user root");
            assertThat(ask(server.port())).isEqualTo("echo hello");
        }
    }

    @Test
    void start_programThatEnds_reportsStatusAndLog() {
        assertThatThrownBy(() -> ServerProcess.builder("broken")
                        .command(environment -> List.of("sh", "-c", "echo bad configuration; exit 3"))
                        .start())
                .isInstanceOf(IOException.class)
                .hasMessageContaining("broken on 127.0.0.1")
                .hasMessageContaining("ended with status 3")
                .hasMessageContaining("bad configuration");
    }

    @Test
    void start_neverReady_reportsLogAndProbeFailure() {
        Throwable failure = startDeaf(Duration.ofMillis(500));
        if (failure.getCause() == null || !failure.getMessage().contains("starting")) {
            failure = startDeaf(Duration.ofSeconds(8)); // the machine paused, so that there was no log or no probe
        }
        assertThat(failure).hasMessageContaining("starting").hasCauseInstanceOf(IOException.class);
    }

    private static Throwable startDeaf(Duration patience) {
        Throwable failure = catchThrowable(() -> ServerProcess.builder("deaf")
                .command(environment -> List.of("sh", "-c", "echo starting; exec tail -f /dev/null"))
                .patience(patience)
                .start());
        assertThat(failure).isInstanceOf(IOException.class).hasMessageContaining("not ready within " + patience);
        return failure;
    }

    @Test
    void find_missingBinary_saysHowToInstallIt() {
        assertThatThrownBy(() -> ServerBinary.find(List.of("no-such-server"), "/opt/*/bin"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("'no-such-server' not found")
                .hasMessageContaining("bin/install-servers");
    }

    @Test
    void next_manyPorts_areDifferentAndBelowTheEphemeralRange() {
        List<Integer> ports =
                java.util.stream.Stream.generate(LoopbackPorts::next).limit(50).toList();
        assertThat(ports).doesNotHaveDuplicates().allMatch(port -> port < 32_768);
        ports.forEach(LoopbackPorts::giveBack);
    }

    private static ServerProcess start() throws Exception {
        return ServerProcess.builder("line")
                .command(environment -> LineServer.command(environment.port()))
                .start();
    }

    private static String ask(int port) throws IOException {
        try (LineServer.Client client = new LineServer.Client(port, PATIENT_MILLIS)) {
            return client.ask("hello");
        }
    }
}
