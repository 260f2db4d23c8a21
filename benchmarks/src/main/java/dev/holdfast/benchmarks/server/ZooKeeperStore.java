package dev.holdfast.benchmarks.server;

import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A ZooKeeper server with its defaults (each write forced to disk), in a JVM of its own. */
final class ZooKeeperStore implements Store {
    private static final int MILLIS = 5_000;
    private static final Pattern RECEIVED = Pattern.compile("zk_packets_received\\t(\\d+)");
    private static final Pattern VERSION = Pattern.compile("zk_version\\t([0-9.]+)");

    private final ServerProcess process;

    private ZooKeeperStore(ServerProcess process) {
        this.process = process;
    }

    static ZooKeeperStore start() throws IOException, InterruptedException {
        return new ZooKeeperStore(ServerProcess.builder("zookeeper")
                .prepare(environment -> environment.write(
                        "zoo.cfg",
                        String.join(
                                "\n",
                                "tickTime=2000",
                                "dataDir="
                                        + Files.createDirectories(
                                                environment.folder().resolve("data")),
                                "clientPort=" + environment.port(),
                                "clientPortAddress=" + environment.host(),
                                "maxClientCnxns=0",
                                "admin.enableServer=false",
                                "4lw.commands.whitelist=mntr,srvr",
                                "")))
                .command(ZooKeeperStore::command)
                .ready(environment -> {
                    if (!ask(environment, "srvr").contains("Mode: ")) {
                        throw new IOException("not serving yet");
                    }
                })
                .start());
    }

    private static List<String> command(ServerEnvironment environment) {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp",
                System.getProperty("java.class.path"),
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                environment.folder().resolve("zoo.cfg").toString());
    }

    private static String ask(ServerEnvironment environment, String command) throws IOException {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(environment.host(), environment.port()), MILLIS);
            socket.setSoTimeout(MILLIS);
            socket.getOutputStream().write(command.getBytes(StandardCharsets.US_ASCII));
            socket.getOutputStream().flush();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private String find(Pattern pattern) throws IOException {
        String answer = ask(process.environment(), "mntr");
        Matcher matcher = pattern.matcher(answer);
        if (!matcher.find()) {
            throw new IOException("no " + pattern + " in what ZooKeeper says: " + answer);
        }
        return matcher.group(1);
    }

    @Override
    public String name() {
        return "zookeeper";
    }

    @Override
    public String version() {
        try {
            return "ZooKeeper " + find(VERSION);
        } catch (IOException e) {
            return "ZooKeeper";
        }
    }

    @Override
    public String address() {
        return "zookeeper://" + process.host() + ":" + process.port();
    }

    @Override
    public String unit() {
        return "packets";
    }

    @Override
    public long commands(Set<String> plainCommands) throws IOException {
        return Long.parseLong(find(RECEIVED));
    }

    @Override
    public void close() {
        process.close();
    }
}
