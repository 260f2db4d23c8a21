package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.process.ServerClock;
import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A PostgreSQL server of the newest version on this machine or of an image, with durable commits as it has them by default. Its only
 * user is a superuser with a password; every login needs one.
 *
 * <p>Thread-safe.
 */
public final class PostgresServer implements AutoCloseable {

    /** The superuser. */
    public static final String USER = "holdfast";

    /** Its password. */
    public static final String PASSWORD = "canary-pg-5f1b";

    private static final int PROBE_MILLIS = 5_000;
    private static final int PROTOCOL_3 = 3 << 16;
    private static final String FOLDERS = "/usr/lib/postgresql/*/bin";

    private final ServerProcess process;

    private PostgresServer(ServerProcess process) {
        this.process = process;
    }

    /**
     * Starts a server.
     *
     * @param settings more settings, each as {@code name=value}
     * @return a server that answers
     * @throws IOException if it does not get ready; the message has the end of its log
     * @throws InterruptedException if interrupted while waiting
     * @throws IllegalStateException if PostgreSQL is not installed; the message says how to install it
     */
    public static PostgresServer start(String... settings) throws IOException, InterruptedException {
        return start(ServerImage.chosen("postgres").orElse(null), settings);
    }

    /**
     * Starts a server of a given version.
     *
     * @param image of PostgreSQL, or null for the newest version on this machine
     * @param settings more settings, each as {@code name=value}
     * @return a server that answers
     * @throws IOException if it does not get ready; the message has the end of its log
     * @throws InterruptedException if interrupted while waiting
     * @throws IllegalStateException if PostgreSQL is not installed; the message says how to install it
     */
    public static PostgresServer start(@Nullable ServerImage image, String... settings)
            throws IOException, InterruptedException {
        return new PostgresServer(describe(settings).image(image).start());
    }

    /**
     * Starts a server that sees a clock of the test's.
     *
     * @param clock what it takes for the time
     * @param settings more settings, each as {@code name=value}
     * @return a server that answers
     * @throws IOException if it does not get ready; the message has the end of its log
     * @throws InterruptedException if interrupted
     */
    public static PostgresServer startWith(ServerClock clock, String... settings)
            throws IOException, InterruptedException {
        return new PostgresServer(clock.on(describe(settings)).start());
    }

    private static ServerProcess.Builder describe(String... settings) {
        return ServerProcess.builder("postgresql")
                .unprivileged()
                .environment("LC_ALL", "C")
                .prepare(environment -> {
                    Path password = environment.write("password", PASSWORD);
                    environment.run(
                            environment.program("initdb", FOLDERS),
                            "--pgdata=" + data(environment),
                            "--username=" + USER,
                            "--pwfile=" + password,
                            "--auth=md5", // SCRAM takes 20 ms of processor time a connection
                            "--encoding=UTF8",
                            "--locale=C",
                            "--no-sync",
                            "--no-instructions");
                    configure(environment, settings);
                })
                .command(environment -> List.of(
                        environment.program("postgres", FOLDERS),
                        "-D",
                        data(environment).toString()))
                .ready(PostgresServer::asksForPassword);
    }

    /** A server that is not ready yet answers a start-up message with an error, another asks who it is. */
    private static void asksForPassword(ServerEnvironment environment) throws IOException {
        byte[] parameters = ("user\0" + USER + "\0database\0postgres\0\0").getBytes(StandardCharsets.US_ASCII);
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(environment.host(), environment.port()), PROBE_MILLIS);
            socket.setSoTimeout(PROBE_MILLIS);
            DataOutputStream out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
            out.writeInt(8 + parameters.length);
            out.writeInt(PROTOCOL_3);
            out.write(parameters);
            out.flush();
            int answer = socket.getInputStream().read();
            if (answer != 'R') {
                throw new IOException(environment + " is not ready: it answered with message type " + answer);
            }
        }
    }

    private static void configure(ServerEnvironment environment, String... settings) throws IOException {
        Path file = data(environment).resolve("postgresql.conf");
        StringBuilder text = new StringBuilder(Files.readString(file));
        text.append("\nlisten_addresses = '")
                .append(environment.host())
                .append("'\nport = ")
                .append(environment.port());
        text.append("\nunix_socket_directories = ''\nmax_connections = 300\n");
        text.append("dynamic_shared_memory_type = 'mmap'\n"); // among its files, which are removed however it ends
        for (String setting : settings) {
            int equals = setting.indexOf('=');
            text.append(setting, 0, equals)
                    .append(" = '")
                    .append(setting.substring(equals + 1))
                    .append("'\n");
        }
        Files.writeString(file, text);
    }

    private static Path data(ServerEnvironment environment) {
        return environment.folder().resolve("data");
    }

    /**
     * Returns where it listens.
     *
     * @return the address for a driver, without user and password
     */
    public String url() {
        return "jdbc:postgresql://" + process.host() + ":" + process.port() + "/postgres";
    }

    /**
     * Returns the process, to disturb it.
     *
     * @return the server's process
     */
    public ServerProcess process() {
        return process;
    }

    /** Kills the server and deletes its folder. Idempotent. */
    @Override
    public void close() {
        process.close();
    }
}
