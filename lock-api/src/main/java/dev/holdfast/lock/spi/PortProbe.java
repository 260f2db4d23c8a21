package dev.holdfast.lock.spi;

import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;

/**
 * Probes a port after a client library could not connect to it: whether it is open, speaks TLS, and answers like the store.
 * Sends the store's greeting unencrypted or starts a TLS handshake; it does not log in, and accepts only trusted
 * certificates.
 */
final class PortProbe {

    /**
     * The result of a probe.
     *
     * @param observation the observation, without an address; null if the port answers as expected, so that the cause is
     *     elsewhere
     * @param remedy what to do
     * @param lasting whether the problem persists until the user corrects something
     */
    record Finding(@Nullable String observation, String remedy, boolean lasting) {
        static final Finding NONE = new Finding(null, "", false);
    }

    /** The kind of an unencrypted answer. */
    private enum Answer {
        STORE,
        TLS,
        OTHER,
        PROXY,
        CLOSED,
        SILENT
    }

    private static final int MAX_BYTES = 64;
    private static final int SHOWN_BYTES = 20;

    private final Greeting greeting;
    private final boolean tls;
    private final String otherForm;
    private byte[] said = {};

    /**
     * @param tls whether the connection should be encrypted
     * @param otherForm how to write the opposite
     */
    PortProbe(Greeting greeting, boolean tls, String otherForm) {
        this.greeting = greeting;
        this.tls = tls;
        this.otherForm = otherForm;
    }

    /** Probes a server. Blocks at most until the deadline, unless the system's name resolution takes longer. */
    Finding look(LockUri.Host host, long deadlineNanos) {
        try {
            InetAddress address = InetAddress.getByName(host.name());
            try (Socket socket = open(address, host.port(), deadlineNanos)) {
                if (!tls) {
                    return inClear(answer(socket, deadlineNanos), address, host.port(), deadlineNanos);
                }
            }
            return encrypted(address, host.port(), deadlineNanos);
        } catch (UnknownHostException e) {
            return new Finding("unknown host", "check the host's name", false);
        } catch (SocketTimeoutException e) {
            return new Finding("no connection in time", "check the address, the network and the firewalls", false);
        } catch (ConnectException e) {
            return String.valueOf(e.getMessage()).contains("refused")
                    ? new Finding("connection refused", "check host and port, and that the server runs", false)
                    : new Finding(e.getMessage(), "check the address and the network", false);
        } catch (IOException e) {
            return new Finding(e.getMessage(), "check the address and the network", false);
        }
    }

    private Finding inClear(Answer answer, InetAddress address, int port, long deadlineNanos) {
        return switch (answer) {
            case STORE -> Finding.NONE;
            case TLS -> speaksTls();
            case OTHER -> new Finding("the server there is not " + greeting.store() + shown(), "check the port", true);
            case PROXY ->
                new Finding("a web server or a proxy answers there" + shown(), "check the port and the proxy", false);
            case CLOSED, SILENT -> {
                if (handshake(address, port, deadlineNanos)) {
                    yield speaksTls();
                }
                yield answer == Answer.CLOSED
                        ? new Finding("the server closes the connection at once", "check the port, or the proxy", false)
                        : silent();
            }
        };
    }

    private Finding encrypted(InetAddress address, int port, long deadlineNanos) {
        if (handshake(address, port, (System.nanoTime() + deadlineNanos) / 2)) {
            return Finding.NONE;
        }
        Answer answer;
        try (Socket socket = open(address, port, deadlineNanos)) {
            answer = answer(socket, deadlineNanos);
        } catch (IOException e) {
            answer = Answer.SILENT;
        }
        return switch (answer) {
            case STORE, OTHER ->
                new Finding(
                        "the server does not speak TLS" + shown(), "write " + otherForm + ", or its TLS port", true);
            case PROXY -> new Finding("no TLS, a web server or a proxy answers there", "check the port", false);
            case TLS -> Finding.NONE;
            case CLOSED -> new Finding("the server ends the TLS handshake", "check the port, or the proxy", false);
            case SILENT -> silent();
        };
    }

    private Finding speaksTls() {
        return new Finding("the server speaks TLS", "write " + otherForm + ", or its port without TLS", true);
    }

    private static Finding silent() {
        return new Finding(
                "the server accepts connections and does not answer", "check the server and the port", false);
    }

    private String shown() {
        if (said.length == 0) {
            return "";
        }
        String text = new String(said, 0, Math.min(said.length, SHOWN_BYTES), StandardCharsets.US_ASCII);
        return " (it says '" + text.replaceAll("[^ -~]", "?").strip() + "')";
    }

    private static Socket open(InetAddress address, int port, long deadlineNanos) throws IOException {
        Socket socket = new Socket();
        try {
            socket.connect(new InetSocketAddress(address, port), millisLeft(deadlineNanos));
            return socket;
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    private Answer answer(Socket socket, long deadlineNanos) {
        try {
            socket.setSoTimeout(Math.max(1, millisLeft(deadlineNanos) / 2));
            socket.getOutputStream().write(greeting.hello());
            byte[] buffer = new byte[MAX_BYTES];
            int count = socket.getInputStream().read(buffer);
            if (count <= 0) {
                return Answer.CLOSED;
            }
            said = Arrays.copyOf(buffer, count);
        } catch (SocketTimeoutException e) {
            return Answer.SILENT;
        } catch (IOException e) {
            return Answer.CLOSED;
        }
        if (greeting.isStores().test(said.clone())) {
            return Answer.STORE;
        }
        if (said[0] == 0x15 && said.length > 1 && said[1] == 3) {
            return Answer.TLS; // the record of an alert
        }
        return new String(said, StandardCharsets.US_ASCII).startsWith("HTTP/") ? Answer.PROXY : Answer.OTHER;
    }

    /** Whether the port speaks TLS, even if the handshake fails or the certificate is not trusted. */
    private static boolean handshake(InetAddress address, int port, long deadlineNanos) {
        try (Socket socket = open(address, port, deadlineNanos);
                SSLSocket secured = (SSLSocket) ((SSLSocketFactory) SSLSocketFactory.getDefault())
                        .createSocket(socket, address.getHostAddress(), port, true)) {
            secured.setSoTimeout(millisLeft(deadlineNanos));
            secured.startHandshake();
            return true;
        } catch (SSLException e) {
            return !(e.getCause() instanceof EOFException)
                    && !String.valueOf(e.getMessage()).contains("Unsupported or unrecognized");
        } catch (IOException e) {
            return false;
        }
    }

    private static int millisLeft(long deadlineNanos) {
        return (int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime()));
    }
}
