package dev.holdfast.lock.testkit.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A PostgreSQL server of the newest version on this machine, with durable commits as it has them by default. Its only
 * user is a superuser with a password; every login needs one.
 *
 * <p>Thread-safe.
 */
public final class PostgresServer implements AutoCloseable {

    /** The superuser. */
    public static final String USER = "holdfast";

    /** Its password. */
    public static final String PASSWORD = "canary-pg-5f1b";

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
        Path server = binary("postgres");
        Path initdb = binary("initdb");
        return new PostgresServer(ServerProcess.builder("postgresql")
                .unprivileged()
                .environment("LC_ALL", "C")
                .prepare(place -> {
                    Path password = place.write("password", PASSWORD);
                    place.run(
                            initdb.toString(),
                            "--pgdata=" + data(place),
                            "--username=" + USER,
                            "--pwfile=" + password,
                            "--auth=scram-sha-256",
                            "--encoding=UTF8",
                            "--locale=C",
                            "--no-sync",
                            "--no-instructions");
                    configure(place, settings);
                })
                .command(place -> List.of(server.toString(), "-D", data(place).toString()))
                .ready(place ->
                        place.run(binary("pg_isready").toString(), "--host=" + place.host(), "--port=" + place.port()))
                .start());
    }

    private static void configure(ServerPlace place, String... settings) throws IOException {
        Path file = data(place).resolve("postgresql.conf");
        StringBuilder text = new StringBuilder(Files.readString(file));
        text.append("\nlisten_addresses = '")
                .append(place.host())
                .append("'\nport = ")
                .append(place.port());
        text.append("\nunix_socket_directories = ''\nmax_connections = 300\n");
        for (String setting : settings) {
            int equals = setting.indexOf('=');
            text.append(setting, 0, equals)
                    .append(" = '")
                    .append(setting.substring(equals + 1))
                    .append("'\n");
        }
        Files.writeString(file, text);
    }

    private static Path data(ServerPlace place) {
        return place.folder().resolve("data");
    }

    private static Path binary(String name) {
        return ServerBinary.find(List.of(name), FOLDERS);
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
