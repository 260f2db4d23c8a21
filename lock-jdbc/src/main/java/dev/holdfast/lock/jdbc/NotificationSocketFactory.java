package dev.holdfast.lock.jdbc;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import javax.net.SocketFactory;
import org.jspecify.annotations.Nullable;

/**
 * Sockets for PostgreSQL's driver that deliver a notification a millisecond sooner.
 *
 * <p>After each notification the driver checks for another one, by a read with a time-out of one millisecond, the
 * shortest that Java supports. It returns the first notification only after that read. This adds a millisecond to each
 * hand-over of a lock. A socket of this factory ends such a read at once if no byte is available. In all other respects
 * it behaves as a plain socket, also with TLS.
 *
 * <p>A client made by {@link dev.holdfast.lock.LockClient#connect(String) LockClient.connect} uses it, unless the
 * address has a {@code socketFactory} of its own. On a pool of the application, set the driver's property
 * {@code socketFactory} to this class's name. It then applies to all connections of the pool, since any of them may
 * become the listening one.
 *
 * <p>Thread-safe, and so are its sockets.
 */
public final class NotificationSocketFactory extends SocketFactory {

    /** Called by the driver. */
    public NotificationSocketFactory() {}

    @Override
    public Socket createSocket() {
        return new PromptSocket();
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return connected(new InetSocketAddress(host, port), null);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress localHost, int localPort) throws IOException {
        return connected(new InetSocketAddress(host, port), new InetSocketAddress(localHost, localPort));
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return connected(new InetSocketAddress(host, port), null);
    }

    @Override
    public Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort)
            throws IOException {
        return connected(new InetSocketAddress(address, port), new InetSocketAddress(localAddress, localPort));
    }

    private static Socket connected(InetSocketAddress to, @Nullable InetSocketAddress from) throws IOException {
        Socket socket = new PromptSocket();
        try {
            if (from != null) {
                socket.bind(from);
            }
            socket.connect(to);
            return socket;
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    private static final class PromptSocket extends Socket {
        private static final int MIN_MILLIS = 1;

        /** Whether the next read only checks for data. */
        private volatile boolean looks;

        @Override
        public void setSoTimeout(int millis) throws SocketException {
            super.setSoTimeout(millis);
            looks = millis == MIN_MILLIS;
        }

        @Override
        public InputStream getInputStream() throws IOException {
            return new FilterInputStream(super.getInputStream()) {
                @Override
                public int read() throws IOException {
                    endIfItLooks();
                    return super.read();
                }

                @Override
                public int read(byte[] bytes, int from, int length) throws IOException {
                    endIfItLooks();
                    return super.read(bytes, from, length);
                }

                /** Applies to the first read only: once TLS has started to read a record, reads block as on a plain socket. */
                private void endIfItLooks() throws IOException {
                    if (looks && available() == 0) {
                        throw new SocketTimeoutException("nothing has arrived");
                    }
                    looks = false;
                }
            };
        }
    }
}
