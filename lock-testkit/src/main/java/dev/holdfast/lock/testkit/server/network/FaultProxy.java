package dev.holdfast.lock.testkit.server.network;

import dev.holdfast.lock.testkit.server.process.LoopbackPorts;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy on the loopback address that fails on demand. Point the client at {@link #host()} and {@link #port()}.
 *
 * <p>A mode applies to all present and future connections until {@link #pass()}:
 *
 * <ul>
 *   <li>{@link #hold} keeps bytes back and delivers them after {@code pass()}, as TCP does when a network comes back;
 *   <li>{@link #blackHole} throws bytes away, as when the other host is gone permanently: {@code pass()} resets every
 *       connection that has lost bytes, because a stream with a gap must not go on;
 *   <li>{@link #latency} delivers each piece after a delay, in order;
 *   <li>{@link #dropRepliesAfter} lets requests through and throws their replies away: the unknown outcome;
 *   <li>{@link #refuse} resets new connections.
 * </ul>
 *
 * {@link #resetAll}, {@link #halfOpen} and {@link #keepBack} act once, on the connections that exist; the last makes
 * requests or replies late, while clients go on over new connections.
 *
 * <p>Thread-safe. Each connection has four daemon threads.
 */
public final class FaultProxy implements AutoCloseable {

    private static final int CONNECT_MILLIS = 5_000;

    private final ServerSocket listener;
    private final InetSocketAddress target;
    private final ProxyModes modes = new ProxyModes();
    private final Set<ProxyConnection> connections = ConcurrentHashMap.newKeySet();
    private volatile boolean refusing;

    private FaultProxy(String host, int port) throws IOException {
        this.target = new InetSocketAddress(host, port);
        this.listener = new ServerSocket(LoopbackPorts.next(), 1_024, InetAddress.getLoopbackAddress());
        Thread thread = new Thread(this::accept, "holdfast-proxy-" + listener.getLocalPort());
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Starts a proxy that passes everything.
     *
     * @param host of the real server
     * @param port of the real server
     * @return the proxy, listening
     * @throws IOException if it cannot listen
     */
    public static FaultProxy to(String host, int port) throws IOException {
        return new FaultProxy(host, port);
    }

    /**
     * Starts a proxy in front of a server's first port.
     *
     * @param server a server; it may be restarted behind the proxy
     * @return the proxy, listening
     * @throws IOException if it cannot listen
     */
    public static FaultProxy to(ServerProcess server) throws IOException {
        return new FaultProxy(server.host(), server.port());
    }

    /**
     * Starts another proxy in front of the same server, for a client whose faults are its own.
     *
     * @return the proxy, listening, which passes everything
     * @throws IOException if it cannot listen
     */
    public FaultProxy another() throws IOException {
        return to(target.getHostString(), target.getPort());
    }

    /**
     * The address that the proxy listens on.
     *
     * @return {@code 127.0.0.1}
     */
    public String host() {
        return "127.0.0.1";
    }

    /**
     * The port that the proxy listens on.
     *
     * @return a loopback port
     */
    public int port() {
        return listener.getLocalPort();
    }

    /** Ends every mode. Held bytes are delivered; connections that have lost bytes are reset. */
    public void pass() {
        resetTorn();
        modes.clear();
        resetTorn();
        refusing = false;
    }

    private void resetTorn() {
        connections.stream().filter(ProxyConnection::hasLostBytes).forEach(ProxyConnection::reset);
    }

    /**
     * Throws away what is sent in one direction. Connecting still works.
     *
     * @param direction which way
     */
    public void blackHole(Direction direction) {
        modes.swallow(direction);
    }

    /** Throws away what is sent, in both directions. Connecting still works. */
    public void blackHole() {
        blackHole(Direction.TO_SERVER);
        blackHole(Direction.TO_CLIENT);
    }

    /**
     * Keeps back what is sent in one direction until {@link #pass()}.
     *
     * @param direction which way
     */
    public void hold(Direction direction) {
        modes.hold(direction);
    }

    /** Keeps back what is sent, in both directions, until {@link #pass()}. */
    public void hold() {
        hold(Direction.TO_SERVER);
        hold(Direction.TO_CLIENT);
    }

    /**
     * Delivers what is sent in one direction after a delay.
     *
     * @param direction which way
     * @param delay zero or more, from the arrival at the proxy
     */
    public void latency(Direction direction, Duration delay) {
        modes.delay(direction, delay.toNanos());
    }

    /**
     * Answers some more requests, then forwards requests and throws their replies away. A request starts with the first
     * bytes of a client after a reply, or of a connection; requests are counted over all connections, so this is exact
     * for clients that wait for each reply. Usually followed by {@link #awaitDropped} and {@link #resetAll()}.
     *
     * @param requests how many are still answered; 0 drops the reply to the next one
     */
    public void dropRepliesAfter(int requests) {
        modes.dropRepliesAfter(requests);
    }

    /**
     * Waits until a reply has been thrown away since {@link #dropRepliesAfter}: the server has carried out a request that
     * its client gets no notice of.
     *
     * @param patience how long to wait
     * @return whether a reply was thrown away in time
     * @throws InterruptedException if interrupted while waiting
     */
    public boolean awaitDropped(Duration patience) throws InterruptedException {
        return modes.awaitDropped(patience.toNanos());
    }

    /** Resets all present connections on both sides (RST). New ones work. */
    public void resetAll() {
        connections.forEach(ProxyConnection::reset);
    }

    /** Resets each new connection at once after it is accepted, until {@link #pass()}. Present ones stay. */
    public void refuse() {
        refusing = true;
    }

    /** Cuts everything off: present connections are reset and new ones refused, until {@link #pass()}. */
    public void cut() {
        refuse();
        resetAll();
    }

    /**
     * Makes the present connections half open: the proxy resets one side's connection, sends nothing to the other side, and
     * discards what that side sends.
     *
     * @param cut {@link Direction#TO_SERVER} ends the server's side, and clients still count as connected;
     *     {@link Direction#TO_CLIENT} ends the clients' side, and the server still counts them as connected
     */
    public void halfOpen(Direction cut) {
        connections.forEach(connection -> connection.halfOpen(cut));
    }

    /**
     * Keeps back what the present connections send in one direction from now on, until it is delivered; new connections
     * work. For {@link Direction#TO_SERVER}: requests that are executed long after their client gave them up, also if it
     * has closed the connection. For {@link Direction#TO_CLIENT}: replies that come late.
     *
     * @param direction which way
     * @return what is kept back, to be delivered by the test; {@link #pass()} does not
     */
    public LateBytes keepBack(Direction direction) {
        Set<ProxyConnection> present = Set.copyOf(connections);
        LateBytes bytes = new LateBytes(direction, present);
        present.forEach(connection -> connection.keepBack(bytes));
        return bytes;
    }

    /**
     * How many connections exist.
     *
     * @return a moment's number
     */
    public int connections() {
        return connections.size();
    }

    /**
     * How many pieces of requests have come from clients, about as many as requests.
     *
     * @return the number so far, those included that did not reach the server
     */
    public long piecesToServer() {
        return modes.piecesToServer();
    }

    /** Stops listening and resets all connections. Idempotent. */
    @Override
    public void close() {
        closeQuietly(listener);
        resetAll();
        LoopbackPorts.giveBack(listener.getLocalPort());
    }

    private void accept() {
        while (!listener.isClosed()) {
            Socket client = null;
            try {
                client = listener.accept();
                client.setTcpNoDelay(true);
                if (refusing) {
                    ProxyConnection.resetQuietly(client);
                } else {
                    connect(client);
                }
            } catch (IOException e) {
                // The listener was closed, or the server is down: its clients see a reset.
                ProxyConnection.resetQuietly(client);
            }
        }
        resetAll();
    }

    private void connect(Socket client) throws IOException {
        Socket server = new Socket();
        server.connect(target, CONNECT_MILLIS);
        server.setTcpNoDelay(true);
        ProxyConnection connection = new ProxyConnection(client, server, modes, connections::remove);
        connections.add(connection);
        connection.start();
    }

    private static void closeQuietly(@Nullable AutoCloseable resource) {
        try {
            if (resource != null) {
                resource.close();
            }
        } catch (Exception e) {
            // Nothing can be done about a socket that does not close.
        }
    }
}
