package dev.holdfast.lock.consul.internal.http;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/** Answers with the answers of a test, on a thread for each connection. Thread-safe. */
public final class FakeAgent implements AutoCloseable {
    private final Answers answers;
    private final AtomicInteger goneClients = new AtomicInteger();
    private final AtomicInteger accepted = new AtomicInteger();
    private final AtomicInteger requests = new AtomicInteger();
    private final List<String> heads = new CopyOnWriteArrayList<>();
    private final ServerSocket socket;
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "fake-consul-agent");
        thread.setDaemon(true);
        return thread;
    });

    /** The answers. */
    public interface Answers {
        /**
         * Returns {@code status body}, {@code status@index body} for an answer with an {@code X-Consul-Index}, or
         * {@code stall} for headers without their body; may block.
         */
        String to(String path, String body) throws InterruptedException;
    }

    public FakeAgent(Answers answers) throws IOException {
        this.answers = answers;
        socket = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
        threads.execute(() -> {
            try {
                while (true) {
                    Socket connection = socket.accept();
                    accepted.incrementAndGet();
                    threads.execute(() -> serve(connection));
                }
            } catch (IOException | RejectedExecutionException e) {
                // closed
            }
        });
    }

    private void serve(Socket connection) {
        try (connection) {
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(connection.getInputStream(), StandardCharsets.US_ASCII));
            for (String request = in.readLine(); request != null; request = in.readLine()) {
                int length = 0;
                StringBuilder head = new StringBuilder(request).append('\n');
                for (String header = in.readLine(); header != null && !header.isEmpty(); header = in.readLine()) {
                    head.append(header).append('\n');
                    if (header.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
                        length = Integer.parseInt(header.substring(15).strip());
                    }
                }
                char[] body = new char[length];
                for (int read = 0; read < length; ) {
                    read += in.read(body, read, length - read);
                }
                heads.add(head.toString());
                requests.incrementAndGet();
                String answer = answers.to(request.split(" ")[1], new String(body));
                boolean stalls = answer.equals("stall");
                String status = stalls ? "200" : answer.substring(0, 3);
                boolean indexed = answer.startsWith("@", 3);
                String index = indexed ? "X-Consul-Index: " + answer.substring(4, answer.indexOf(' ')) + "\r\n" : "";
                String text = stalls
                        ? ""
                        : answer.substring(indexed ? answer.indexOf(' ') : 3).strip();
                connection
                        .getOutputStream()
                        .write(("HTTP/1.1 " + status + " x\r\n" + index + "Content-Length: "
                                        + (stalls ? 9 : text.length()) + "\r\n\r\n" + text)
                                .getBytes(StandardCharsets.US_ASCII));
            }
        } catch (IOException e) {
            // the client has gone
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            goneClients.incrementAndGet();
        }
    }

    public URI address() {
        return URI.create("http://127.0.0.1:" + socket.getLocalPort());
    }

    /** How many connections are open. */
    public int connections() {
        return accepted.get() - goneClients.get();
    }

    /** How many connections clients have closed. */
    public int goneClients() {
        return goneClients.get();
    }

    /** The first line and the headers of each request, a line each. */
    public List<String> heads() {
        return heads;
    }

    /** The number of requests so far. */
    public int requests() {
        return requests.get();
    }

    public ConsulConnection connection(URI... others) {
        List<URI> agents = new ArrayList<>(List.of(address()));
        agents.addAll(List.of(others));
        return new ConsulConnection(HttpClient.newHttpClient(), agents, null, () -> {});
    }

    @Override
    public void close() throws IOException {
        socket.close();
        threads.shutdownNow();
    }
}
