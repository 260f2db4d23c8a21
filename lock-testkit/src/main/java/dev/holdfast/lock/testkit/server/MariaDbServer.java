package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.process.ServerClock;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A MariaDB server with durable commits as it has them by default, one empty database, and one user with all rights, who
 * needs a password.
 *
 * <p>Thread-safe.
 */
public final class MariaDbServer implements AutoCloseable {

    /** The user. */
    public static final String USER = "holdfast";

    /** Its password. */
    public static final String PASSWORD = "canary-my-8c2d";

    private final ServerProcess process;

    private MariaDbServer(ServerProcess process) {
        this.process = process;
    }

    /**
     * Starts a server.
     *
     * @param settings more settings, each as {@code name=value}
     * @return a server that answers
     * @throws IOException if it does not get ready; the message has the end of its log
     * @throws InterruptedException if interrupted while waiting
     * @throws IllegalStateException if MariaDB is not installed; the message says how to install it
     */
    public static MariaDbServer start(String... settings) throws IOException, InterruptedException {
        return start(ServerImage.chosen("mariadb").orElse(null), settings);
    }

    /**
     * Starts a server of a given version.
     *
     * @param image of MariaDB, or null for the program of this machine
     * @param settings more settings, each as {@code name=value}
     * @return a server that answers
     * @throws IOException if it does not get ready; the message has the end of its log
     * @throws InterruptedException if interrupted while waiting
     * @throws IllegalStateException if MariaDB is not installed; the message says how to install it
     */
    public static MariaDbServer start(@Nullable ServerImage image, String... settings)
            throws IOException, InterruptedException {
        return new MariaDbServer(describe(settings).image(image).start());
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
    public static MariaDbServer startWith(ServerClock clock, String... settings)
            throws IOException, InterruptedException {
        return new MariaDbServer(clock.on(describe(settings)).start());
    }

    private static ServerProcess.Builder describe(String... settings) {
        return ServerProcess.builder("mariadb")
                .unprivileged()
                .prepare(environment -> {
                    MySqlFamily.prepare(environment, USER, PASSWORD);
                    environment.run(
                            environment.program("mariadb-install-db"),
                            "--no-defaults",
                            MySqlFamily.data(environment),
                            MySqlFamily.temporaryFiles(environment),
                            "--innodb-log-file-size=16M",
                            "--auth-root-authentication-method=normal",
                            "--skip-test-db");
                })
                .command(environment ->
                        MySqlFamily.command(environment, "mariadbd", List.of("--innodb-log-file-size=16M"), settings));
    }

    /**
     * Returns where it listens.
     *
     * @param driver {@code mariadb} or {@code mysql}
     * @return the address for that driver, without user and password
     */
    public String url(String driver) {
        return "jdbc:" + driver + "://" + process.host() + ":" + process.port() + "/holdfast";
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
