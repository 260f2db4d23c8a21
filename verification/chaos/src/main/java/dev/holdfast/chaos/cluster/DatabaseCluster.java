package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.MariaDbServer;
import dev.holdfast.lock.testkit.server.PostgresServer;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.sql.SQLException;
import java.util.List;
import java.util.function.IntFunction;
import org.h2.tools.Server;

/** A single database server, which keeps what it has committed. */
final class DatabaseCluster implements Cluster {
    /** A heartbeat of half a second, and its round trip. */
    private static final long NOTICE_NANOS = 600_000_000;

    private final String description;
    private final ServerProcess server;
    private final IntFunction<String> url;
    private final long noticeNanos;

    private DatabaseCluster(String description, ServerProcess server, String strategy, IntFunction<String> url) {
        this.description = description;
        this.noticeNanos = strategy.equals("version") ? 0 : NOTICE_NANOS;
        this.server = server;
        this.url = url;
    }

    static DatabaseCluster postgresql(String strategy) throws IOException, InterruptedException {
        PostgresServer server = PostgresServer.start();
        return new DatabaseCluster(
                "PostgreSQL",
                server.process(),
                strategy,
                port -> "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=" + PostgresServer.USER + "&password="
                        + PostgresServer.PASSWORD + "&holdfast.createTable=true&holdfast.strategy=" + strategy);
    }

    static DatabaseCluster mariadb(String strategy) throws IOException, InterruptedException {
        MariaDbServer server = MariaDbServer.start();
        return new DatabaseCluster(
                "MariaDB",
                server.process(),
                strategy,
                port -> "jdbc:mariadb://127.0.0.1:" + port + "/holdfast?user=" + MariaDbServer.USER + "&password="
                        + MariaDbServer.PASSWORD + "&holdfast.createTable=true&holdfast.strategy=" + strategy);
    }

    static DatabaseCluster h2() throws IOException, InterruptedException {
        ServerProcess server = ServerProcess.builder("h2")
                .command(environment -> JavaProcess.command(
                        "256m",
                        Server.class,
                        "-tcp",
                        "-tcpPort",
                        "" + environment.port(),
                        "-baseDir",
                        environment.folder().toString(),
                        "-ifNotExists"))
                .start();
        return new DatabaseCluster(
                "H2 server",
                server,
                "version",
                port -> "jdbc:h2:tcp://127.0.0.1:" + port + "/./chaos;USER=sa;PASSWORD=;WRITE_DELAY=0"
                        + ";holdfast.createTable=true");
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public List<Node> nodes() {
        return List.of(Node.of(server));
    }

    @Override
    public String store(List<Integer> ports) {
        return url.apply(ports.get(0));
    }

    @Override
    public long noticeNanos() {
        return noticeNanos;
    }

    @Override
    public RawWrite rawWrite(int port) throws SQLException {
        return RawWrites.database(url.apply(port).replaceAll("[&;]holdfast[.][^&;]*", ""));
    }

    @Override
    public void close() {
        server.close();
    }
}
