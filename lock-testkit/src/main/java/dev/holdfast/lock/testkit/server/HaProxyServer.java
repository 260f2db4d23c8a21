package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * An HAProxy in front of servers that speak over TCP. It sends all connections to the first server that accepts some, and ends
 * those to a server that does not, and those that are idle. Needs the binary {@code haproxy}.
 *
 * <p>Thread-safe.
 */
public final class HaProxyServer implements AutoCloseable {
    private final ServerProcess process;

    private HaProxyServer(ServerProcess process) {
        this.process = process;
    }

    /**
     * Starts a proxy.
     *
     * @param idle after which time without a byte a connection is ended
     * @param servers the addresses, each as {@code host:port}, in the order of preference; at least one
     * @return a proxy that listens
     * @throws IOException if it does not get ready; the message has the end of its log
     * @throws InterruptedException if interrupted while waiting
     * @throws IllegalStateException if HAProxy is not installed; the message says how to install it
     */
    public static HaProxyServer start(Duration idle, List<String> servers) throws IOException, InterruptedException {
        return new HaProxyServer(ServerProcess.builder("haproxy")
                .unprivileged()
                .prepare(environment -> environment.write(
                        "haproxy.cfg", configuration(idle, environment.host() + ":" + environment.port(), servers)))
                .command(environment -> List.of(
                        environment.program("haproxy"),
                        "-db",
                        "-f",
                        environment.folder().resolve("haproxy.cfg").toString()))
                .ready(ServerProcess.acceptsConnections())
                .start());
    }

    private static String configuration(Duration idle, String listens, List<String> servers) {
        List<String> lines = new ArrayList<>(List.of(
                "defaults",
                "  mode tcp",
                "  timeout connect 2s",
                "  timeout client " + idle.toMillis() + "ms",
                "  timeout server " + idle.toMillis() + "ms",
                "listen store",
                "  bind " + listens,
                "  option redispatch 1"));
        for (String server : servers) {
            String name = "s" + lines.size();
            lines.add("  server " + name + " " + server
                    + " check inter 100ms rise 1 fall 1 on-marked-down shutdown-sessions"
                    + (server.equals(servers.get(0)) ? "" : " backup"));
        }
        return String.join("\n", lines) + "\n";
    }

    /**
     * Returns where it listens.
     *
     * @return the address as {@code host:port}
     */
    public String address() {
        return process.host() + ":" + process.port();
    }

    /**
     * Returns the process, to disturb it.
     *
     * @return the proxy's process
     */
    public ServerProcess process() {
        return process;
    }

    /** Kills the proxy and deletes its folder. Idempotent. */
    @Override
    public void close() {
        process.close();
    }
}
