package dev.holdfast.lock.testkit.server;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A plain connection to a Redis server, for probes and administration in tests. Not thread-safe. */
final class RespConnection implements AutoCloseable {
    private static final int TIMEOUT_MILLIS = 10_000;

    private final Socket socket = new Socket();
    private final InputStream in;

    RespConnection(String host, int port) throws IOException {
        socket.connect(new InetSocketAddress(host, port), TIMEOUT_MILLIS);
        socket.setSoTimeout(TIMEOUT_MILLIS);
        in = new BufferedInputStream(socket.getInputStream());
    }

    /** Sends a command and reads its reply: text, Long, List or null. An error reply is thrown. */
    @Nullable Object command(String... words) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(("*" + words.length + "\r\n").getBytes(StandardCharsets.UTF_8));
        for (String word : words) {
            byte[] bytes = word.getBytes(StandardCharsets.UTF_8);
            out.writeBytes(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.UTF_8));
            out.writeBytes(bytes);
            out.writeBytes("\r\n".getBytes(StandardCharsets.UTF_8));
        }
        socket.getOutputStream().write(out.toByteArray());
        return reply();
    }

    private @Nullable Object reply() throws IOException {
        String line = line();
        String rest = line.substring(1);
        switch (line.charAt(0)) {
            case '+':
                return rest;
            case ':':
                return Long.valueOf(rest);
            case '$':
                int length = Integer.parseInt(rest);
                if (length < 0) {
                    return null;
                }
                String text = new String(in.readNBytes(length), StandardCharsets.UTF_8);
                line();
                return text;
            case '*':
                List<@Nullable Object> list = new ArrayList<>();
                for (int i = Integer.parseInt(rest); i > 0; i--) {
                    list.add(reply());
                }
                return list;
            default:
                throw new IOException("the server says: " + line);
        }
    }

    private String line() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new IOException("the server has closed the connection");
            }
            if (b != '\r') {
                bytes.write(b);
            }
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
