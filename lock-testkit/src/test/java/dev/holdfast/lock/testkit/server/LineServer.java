package dev.holdfast.lock.testkit.server;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Answers each line with {@code echo <line>}; in this JVM, or as a program of its own. */
final class LineServer implements AutoCloseable {

    private final ServerSocket listener;
    private final List<String> received = new CopyOnWriteArrayList<>();
    private final List<Throwable> ends = new CopyOnWriteArrayList<>();

    LineServer(int port) throws IOException {
        listener = new ServerSocket(port, 50, InetAddress.getLoopbackAddress());
        daemon(this::accept);
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("user " + System.getProperty("user.name"));
        try (LineServer server = new LineServer(Integer.parseInt(arguments[0]))) {
            Thread.currentThread().join();
        }
    }

    /** The command that starts it as a program. */
    static List<String> command(int port) {
        return List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "-Xshare:auto",
                "-cp",
                System.getProperty("java.class.path"),
                LineServer.class.getName(),
                Integer.toString(port));
    }

    int port() {
        return listener.getLocalPort();
    }

    List<String> received() {
        return received;
    }

    List<Throwable> ends() {
        return ends;
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket socket = listener.accept();
                daemon(() -> serve(socket));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                received.add(line);
                socket.getOutputStream().write(("echo " + line + "\n").getBytes(StandardCharsets.UTF_8));
            }
            ends.add(new java.io.EOFException("end of stream"));
        } catch (IOException e) {
            ends.add(e);
        }
    }

    private static void daemon(Runnable body) {
        Thread thread = new Thread(body, "line-server");
        thread.setDaemon(true);
        thread.start();
    }

    /** A client that waits a bounded time for each answer. */
    static final class Client implements AutoCloseable {
        private final Socket socket;
        private final BufferedReader in;

        Client(int port, int timeoutMillis) throws IOException {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setSoTimeout(timeoutMillis);
            in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        }

        /** How long it waits for each answer from now on. */
        void patience(int timeoutMillis) throws IOException {
            socket.setSoTimeout(timeoutMillis);
        }

        void send(String line) throws IOException {
            socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
        }

        String receive() throws IOException {
            String line = in.readLine();
            return line == null ? "end of stream" : line;
        }

        String ask(String line) throws IOException {
            send(line);
            return receive();
        }

        @Override
        public void close() {
            try {
                socket.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
