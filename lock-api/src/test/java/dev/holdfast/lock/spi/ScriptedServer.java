package dev.holdfast.lock.spi;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Answers the first bytes of each connection as scripted: with bytes, not at all (empty), or by closing (null). */
final class ScriptedServer implements AutoCloseable {
    /** A fatal alert, as a TLS server sends it. */
    static final byte[] ALERT = {0x15, 3, 3, 0, 2, 2, 40};

    static final byte[] NOTHING = {};

    private final ServerSocket port;
    private final Function<byte[], byte @Nullable []> script;
    private final List<Socket> open = new CopyOnWriteArrayList<>();

    ScriptedServer(Function<byte[], byte @Nullable []> script) throws IOException {
        this.script = script;
        this.port = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread thread = new Thread(this::accept, "scripted-server");
        thread.setDaemon(true);
        thread.start();
    }

    static ScriptedServer saying(String text) throws IOException {
        return new ScriptedServer(hello -> text.getBytes(StandardCharsets.ISO_8859_1));
    }

    /** Whether those bytes begin a TLS handshake. */
    static boolean isTls(byte[] hello) {
        return hello.length > 0 && hello[0] == 0x16;
    }

    LockUri.Host host() {
        return new LockUri.Host("127.0.0.1", port.getLocalPort());
    }

    int connections() {
        return open.size();
    }

    private void accept() {
        while (!port.isClosed()) {
            try {
                Socket socket = port.accept();
                open.add(socket);
                Thread thread = new Thread(() -> answer(socket), "scripted-answer");
                thread.setDaemon(true);
                thread.start();
            } catch (IOException closed) {
                return;
            }
        }
    }

    private void answer(Socket socket) {
        try {
            byte[] buffer = new byte[4096];
            int count = socket.getInputStream().read(buffer);
            byte[] reply = script.apply(Arrays.copyOf(buffer, Math.max(0, count)));
            if (reply == null) {
                socket.close();
            } else {
                socket.getOutputStream().write(reply);
                socket.getOutputStream().flush();
            }
        } catch (IOException gone) {
            // the other end has closed
        }
    }

    @Override
    public void close() throws IOException {
        port.close();
        for (Socket socket : open) {
            socket.close();
        }
    }
}
