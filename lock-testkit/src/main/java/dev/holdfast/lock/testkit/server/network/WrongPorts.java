package dev.holdfast.lock.testkit.server.network;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Ports of this machine behind which no store is: one without a listener, a silent one, and one of another protocol. */
public final class WrongPorts implements AutoCloseable {
    private static final byte[] GREETING = "SSH-2.0-OpenSSH_9.9\r\n".getBytes(StandardCharsets.US_ASCII);

    private final ServerSocket silent = listen();
    private final ServerSocket other = listen();
    private final Queue<Socket> open = new ConcurrentLinkedQueue<>();
    private final String refused;

    /**
     * Opens the ports.
     *
     * @throws IOException if the system has none left
     */
    public WrongPorts() throws IOException {
        try (ServerSocket closed = listen()) {
            refused = address(closed);
        }
        Thread talking = new Thread(this::talk, "wrong-port");
        talking.setDaemon(true);
        talking.start();
    }

    private static ServerSocket listen() throws IOException {
        return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    private static String address(ServerSocket socket) {
        return "127.0.0.1:" + socket.getLocalPort();
    }

    private void talk() {
        while (!other.isClosed()) {
            try {
                Socket socket = other.accept();
                open.add(socket);
                socket.getOutputStream().write(GREETING);
            } catch (IOException e) {
                // That client has gone, or this is closed.
            }
        }
    }

    /**
     * Returns a port without a listener.
     *
     * @return {@code host:port}
     */
    public String refused() {
        return refused;
    }

    /**
     * Returns a port that accepts connections and says nothing.
     *
     * @return {@code host:port}
     */
    public String silent() {
        return address(silent);
    }

    /**
     * Returns a port where another protocol is spoken, whose server speaks first.
     *
     * @return {@code host:port}
     */
    public String otherProtocol() {
        return address(other);
    }

    @Override
    public void close() throws IOException {
        silent.close();
        other.close();
        for (Socket socket : open) {
            socket.close();
        }
    }
}
