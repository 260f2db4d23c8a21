package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.process.ServerImage;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A MySQL server (Oracle's, not MariaDB) with durable commits as it has them by default, one empty database, and one user
 * with all rights, who needs a password. Its clients speak TLS with a certificate that the server makes for itself.
 *
 * <p>Thread-safe.
 */
public final class MySqlServer implements AutoCloseable {

    /** The user. */
    public static final String USER = "holdfast";

    /** Its password. */
    public static final String PASSWORD = "canary-ms-3e7a";

    private final ServerProcess process;

    private MySqlServer(ServerProcess process) {
        this.process = process;
    }

    /**
     * Starts a server.
     *
     * @param image of MySQL, or null for the program of this machine
     * @param settings more settings, each as {@code name=value}
     * @return a server that answers
     * @throws IOException if it does not get ready; the message has the end of its log
     * @throws InterruptedException if interrupted while waiting
     * @throws IllegalStateException if MySQL is not installed; the message says how to install servers
     */
    public static MySqlServer start(@Nullable ServerImage image, String... settings)
            throws IOException, InterruptedException {
        return new MySqlServer(ServerProcess.builder("mysql")
                .image(image)
                .unprivileged()
                .prepare(environment -> {
                    MySqlFamily.prepare(environment, USER, PASSWORD);
                    environment.run(
                            environment.program("mysqld"),
                            "--no-defaults",
                            "--initialize-insecure",
                            MySqlFamily.data(environment),
                            "--innodb-redo-log-capacity=32M");
                })
                .command(environment -> MySqlFamily.command(
                        environment,
                        "mysqld",
                        List.of("--innodb-redo-log-capacity=32M", "--mysqlx=OFF", "--secure-file-priv=NULL"),
                        settings))
                .start());
    }

    /**
     * Returns where it listens.
     *
     * @return the address for MySQL's driver, without user and password
     */
    public String url() {
        return "jdbc:mysql://" + process.host() + ":" + process.port() + "/holdfast";
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
