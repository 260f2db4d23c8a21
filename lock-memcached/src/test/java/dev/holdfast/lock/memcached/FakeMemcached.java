package dev.holdfast.lock.memcached;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** Answers lines with the answers of a test, on a thread for each connection. Thread-safe. */
final class FakeMemcached implements AutoCloseable {
    /** The answer after which the connection is closed. */
    static final String CLOSE = "close";

    private final Answers answers;
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicInteger gone = new AtomicInteger();
    private final ServerSocket socket;
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "fake-memcached");
        thread.setDaemon(true);
        return thread;
    });

    /** The answers. */
    interface Answers {
        /** Returns the line that answers, {@link #CLOSE}, or nothing for no answer; may block. */
        String to(String line) throws InterruptedException;
    }

    FakeMemcached(Answers answers) throws IOException {
        this.answers = answers;
        socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        threads.execute(() -> {
            try {
                while (true) {
                    Socket connection = socket.accept();
                    connections.incrementAndGet();
                    threads.execute(() -> serve(connection));
                }
            } catch (IOException e) {
                // closed
            }
        });
    }

    private void serve(Socket connection) {
        try (connection) {
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(connection.getInputStream(), StandardCharsets.US_ASCII));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String answer = answers.to(line);
                if (answer.equals(CLOSE)) {
                    break;
                }
                if (!answer.isEmpty()) {
                    connection.getOutputStream().write((answer + "\r\n").getBytes(StandardCharsets.US_ASCII));
                }
            }
        } catch (IOException e) {
            // the client has gone
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            gone.incrementAndGet();
        }
    }

    String uri() {
        return "memcached://127.0.0.1:" + socket.getLocalPort();
    }

    /** How many connections have been made. */
    int connections() {
        return connections.get();
    }

    /** How many of them have ended. */
    int gone() {
        return gone.get();
    }

    @Override
    public void close() throws IOException {
        socket.close();
        threads.shutdownNow();
    }
}
