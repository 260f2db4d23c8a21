package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;

/**
 * A PgBouncer in front of a PostgreSQL server, for the same user and password. Needs the binary {@code pgbouncer}.
 *
 * <p>Thread-safe.
 */
public final class PgBouncerServer implements AutoCloseable {
    private static final int PROBE_MILLIS = 5_000;

    private final ServerProcess process;

    private PgBouncerServer(ServerProcess process) {
        this.process = process;
    }

    /**
     * Starts a pooler.
     *
     * @param server where its connections lead to
     * @param poolMode {@code session}, {@code transaction} or {@code statement}
     * @param serverConnections how many connections to the server its clients share
     * @return a pooler that listens
     * @throws IOException if it does not get ready; the message has the end of its log
     * @throws InterruptedException if interrupted while waiting
     * @throws IllegalStateException if PgBouncer is not installed; the message says how to install it
     */
    public static PgBouncerServer start(PostgresServer server, String poolMode, int serverConnections)
            throws IOException, InterruptedException {
        return new PgBouncerServer(ServerProcess.builder("pgbouncer")
                .unprivileged()
                .prepare(environment -> {
                    Path users = environment.write(
                            "users.txt", "\"" + PostgresServer.USER + "\" \"" + PostgresServer.PASSWORD + "\"\n");
                    environment.write(
                            "pgbouncer.ini",
                            String.join(
                                    "\n",
                                    "[databases]",
                                    "* = host=" + server.process().host() + " port="
                                            + server.process().port(),
                                    "[pgbouncer]",
                                    "listen_addr = " + environment.host(),
                                    "listen_port = " + environment.port(),
                                    "unix_socket_dir =",
                                    "auth_type = scram-sha-256",
                                    "auth_file = " + users,
                                    "pool_mode = " + poolMode,
                                    "default_pool_size = " + serverConnections,
                                    "max_client_conn = 300",
                                    "ignore_startup_parameters = extra_float_digits",
                                    ""));
                })
                .command(environment -> List.of(
                        environment.program("pgbouncer"),
                        environment.folder().resolve("pgbouncer.ini").toString()))
                .ready(PgBouncerServer::listens)
                .start());
    }

    private static void listens(ServerEnvironment environment) throws IOException {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(environment.host(), environment.port()), PROBE_MILLIS);
        }
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
     * @return the pooler's process
     */
    public ServerProcess process() {
        return process;
    }

    /** Kills the pooler and deletes its folder. Idempotent. */
    @Override
    public void close() {
        process.close();
    }
}
