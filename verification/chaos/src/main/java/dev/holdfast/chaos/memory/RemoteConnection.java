package dev.holdfast.chaos.memory;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.OwnerId;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/** A connection of a {@link RemoteBackend}, with a thread that reads. Thread-safe. */
final class RemoteConnection {
    private static final int CONNECT_MILLIS = 1_000;

    /** Reads an answer's fields. */
    @FunctionalInterface
    interface Body<T> {
        @org.jspecify.annotations.Nullable T read(int status, DataInputStream in) throws IOException;
    }

    /** Takes what comes without being asked for. */
    interface Listener {
        /** That owner may be next. */
        void signalled(OwnerId owner);

        /** That owner has the lock, by its attempt of that round. */
        void handed(OwnerId owner, long round, long token, long leaseMillis);

        /** Nothing comes any more. */
        void broken();
    }

    private record Pending<T>(Body<T> body, CompletableFuture<T> future) {
        void read(int status, DataInputStream in) throws IOException {
            if (status == Wire.FAILED) {
                future.completeExceptionally(new LockUnavailableException("the memory server failed"));
            } else {
                future.complete(body.read(status, in));
            }
        }
    }

    private final Socket socket;
    private final OutputStream out;
    private final Listener listener;
    private final ReentrantLock writing = new ReentrantLock();
    private final AtomicInteger numbers = new AtomicInteger();
    private final Map<Integer, Pending<?>> pending = new ConcurrentHashMap<>();
    private volatile boolean dead;

    private RemoteConnection(Socket socket, Listener listener) throws IOException {
        this.socket = socket;
        this.out = socket.getOutputStream();
        this.listener = listener;
    }

    static RemoteConnection open(int port, Listener listener) throws IOException {
        Socket socket = new Socket();
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), CONNECT_MILLIS);
        socket.setTcpNoDelay(true);
        RemoteConnection connection = new RemoteConnection(socket, listener);
        Thread reader = new Thread(connection::read, "chaos-memory-" + port);
        reader.setDaemon(true);
        reader.start();
        return connection;
    }

    boolean isBroken() {
        return dead;
    }

    <T> CompletionStage<T> send(int what, RemoteBackend.Writer writer, Body<T> body) throws IOException {
        int number = numbers.incrementAndGet();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream data = new DataOutputStream(bytes);
        data.writeInt(number);
        data.writeByte(what);
        writer.write(data);
        CompletableFuture<T> future = new CompletableFuture<>();
        pending.put(number, new Pending<>(body, future));
        writing.lock();
        try {
            out.write(bytes.toByteArray());
        } catch (IOException e) {
            // The reader fails it.
            socket.close();
        } finally {
            writing.unlock();
        }
        if (dead) {
            failAll();
        }
        return future;
    }

    private void read() {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()))) {
            while (true) {
                int number = in.readInt();
                if (number == Wire.SIGNAL) {
                    listener.signalled(Wire.readOwner(in));
                    continue;
                }
                if (number == Wire.HANDED) {
                    listener.handed(Wire.readOwner(in), in.readLong(), in.readLong(), in.readLong());
                    continue;
                }
                int status = in.readByte();
                Pending<?> asked = pending.remove(number);
                if (asked == null) {
                    throw new IOException("an answer that nobody asked for");
                }
                asked.read(status, in);
            }
        } catch (IOException e) {
            dead = true;
            failAll();
            listener.broken();
        }
    }

    private void failAll() {
        pending.keySet().forEach(number -> {
            Pending<?> asked = pending.remove(number);
            if (asked != null) {
                asked.future()
                        .completeExceptionally(
                                new LockUnavailableException("the connection to the memory server broke"));
            }
        });
    }

    void close() {
        dead = true;
        try {
            socket.close();
        } catch (IOException e) {
            // Nothing can be done about it.
        }
    }
}
