package dev.holdfast.lock.redis;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/** Speaks just enough of the protocol for the client to connect: it knows PING, and answers when the test lets it. */
public final class PingServer implements AutoCloseable {
    public volatile CountDownLatch mayAnswer = new CountDownLatch(0);

    private final ServerSocket port = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final List<Socket> clients = new CopyOnWriteArrayList<>();

    public PingServer() throws IOException {
        start(this::accept);
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "ping-server");
        thread.setDaemon(true);
        thread.start();
    }

    public String uri() {
        return "redis://127.0.0.1:" + port.getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                Socket client = port.accept();
                clients.add(client);
                start(() -> serve(client));
            }
        } catch (IOException e) {
            // This is closed.
        }
    }

    private void serve(Socket client) {
        try (client;
                BufferedReader in =
                        new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8))) {
            for (String count = in.readLine(); count != null; count = in.readLine()) {
                String command = "";
                for (int i = Integer.parseInt(count.substring(1)); i > 0; i--) {
                    in.readLine();
                    String word = in.readLine();
                    command = command.isEmpty() ? word : command;
                }
                mayAnswer.await();
                String answer = command.equals("PING") ? "+PONG\r\n" : "-ERR unknown command\r\n";
                client.getOutputStream().write(answer.getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException | InterruptedException e) {
            // That client has gone, or this is closed.
        }
    }

    /** All connections break, and there are no new ones. */
    @Override
    public void close() throws IOException {
        port.close();
        for (Socket client : clients) {
            client.close();
        }
        mayAnswer.countDown();
    }
}
