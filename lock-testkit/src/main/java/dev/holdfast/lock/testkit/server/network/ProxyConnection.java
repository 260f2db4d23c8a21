package dev.holdfast.lock.testkit.server.network;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One client's connection through a {@link FaultProxy}: for each direction a reading and a writing thread. */
final class ProxyConnection {

    private static final int BUFFER = 64 * 1024;

    private record Piece(
            byte[] bytes, long arrivedNanos, @Nullable LateBytes late) {
        void left() {
            if (late != null) {
                late.left();
            }
        }

        boolean isEnd() {
            return bytes.length == 0;
        }
    }

    private final Socket client;
    private final Socket server;
    private final ProxyModes modes;
    private final Consumer<ProxyConnection> onEnd;
    private final AtomicBoolean ended = new AtomicBoolean();
    private volatile boolean lostBytes;
    private volatile boolean silent;
    private volatile boolean requestOpen;
    private volatile boolean dropReply;
    private volatile @Nullable LateBytes late;

    ProxyConnection(Socket client, Socket server, ProxyModes modes, Consumer<ProxyConnection> onEnd) {
        this.client = client;
        this.server = server;
        this.modes = modes;
        this.onEnd = onEnd;
    }

    void start() {
        pump(Direction.TO_SERVER, client, server);
        pump(Direction.TO_CLIENT, server, client);
    }

    boolean hasLostBytes() {
        return lostBytes;
    }

    void reset() {
        ended.set(true);
        resetQuietly(client);
        resetQuietly(server);
        onEnd.accept(this);
    }

    /** From now on neither side gets anything: what arrives is lost, and an end of one side does not end the other. */
    void halfOpen(Direction cut) {
        silent = true;
        lostBytes = true;
        resetQuietly(cut == Direction.TO_SERVER ? server : client);
    }

    /** From now on what is sent in one direction is late, and no end of one side ends the other. */
    void keepBack(LateBytes bytes) {
        late = bytes;
    }

    void resetClient() {
        resetQuietly(client);
    }

    private void pump(Direction direction, Socket from, Socket to) {
        BlockingQueue<Piece> queue = new LinkedBlockingQueue<>();
        thread("read-" + direction, () -> read(direction, from, queue));
        thread("write-" + direction, () -> write(direction, to, queue));
    }

    private void thread(String name, Runnable body) {
        Thread thread = new Thread(body, "holdfast-proxy-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    private void read(Direction direction, Socket from, BlockingQueue<Piece> queue) {
        byte[] buffer = new byte[BUFFER];
        try {
            while (true) {
                int count = from.getInputStream().read(buffer);
                if (count >= 0 && direction == Direction.TO_SERVER) {
                    modes.pieceToServer();
                    requestBytes();
                }
                boolean lost = silent || modes.swallows(direction);
                LateBytes kept = late;
                if (count < 0) {
                    if (!lost && kept == null) {
                        queue.add(new Piece(new byte[0], System.nanoTime(), null));
                    }
                    return;
                }
                LateBytes keeper = kept != null && kept.direction() == direction ? kept : null;
                if (keeper != null && !keeper.arrived()) {
                    continue;
                }
                Piece piece = new Piece(Arrays.copyOf(buffer, count), System.nanoTime(), keeper);
                if (lost || (direction == Direction.TO_CLIENT && replyIsDropped())) {
                    lostBytes = true;
                    piece.left();
                } else {
                    queue.add(piece);
                }
            }
        } catch (IOException e) {
            if (!silent && late == null && !modes.swallows(direction)) {
                reset();
            }
        }
    }

    private void requestBytes() {
        if (!requestOpen) {
            requestOpen = true;
            dropReply |= modes.dropsReplyOfNextRequest();
        }
    }

    private boolean replyIsDropped() {
        requestOpen = false;
        if (dropReply) {
            lostBytes = true;
            modes.replyDropped();
        }
        return dropReply;
    }

    private void write(Direction direction, Socket to, BlockingQueue<Piece> queue) {
        try {
            OutputStream out = to.getOutputStream();
            while (!ended.get()) {
                Piece piece = queue.poll(100, java.util.concurrent.TimeUnit.MILLISECONDS);
                if (piece == null) {
                    continue;
                }
                modes.awaitDelivery(direction, piece.arrivedNanos(), ended::get);
                LateBytes kept = late;
                if (kept != null && kept.direction() == direction) {
                    kept.awaitDelivery(ended::get);
                }
                if (ended.get()) { // while the piece waited: it was lost with the connection
                    piece.left();
                    return;
                }
                if (piece.isEnd()) {
                    to.shutdownOutput();
                    endIfBothSidesHave();
                    return;
                }
                boolean torn = piece.late() != null && piece.late().isTorn();
                try {
                    out.write(piece.bytes(), 0, torn ? piece.bytes().length / 2 : piece.bytes().length);
                    out.flush();
                } finally {
                    piece.left();
                }
                if (torn) {
                    resetQuietly(to);
                    return;
                }
            }
        } catch (IOException e) {
            if (!silent && late == null) {
                reset();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            undeliverable(queue);
        }
    }

    /** Nothing is written any more; what is in the queue never will be. */
    private void undeliverable(BlockingQueue<Piece> queue) {
        for (Piece piece = queue.poll(); piece != null; piece = queue.poll()) {
            piece.left();
        }
    }

    private void endIfBothSidesHave() {
        if (client.isOutputShutdown() && server.isOutputShutdown()) {
            ended.set(true);
            closeQuietly(client);
            closeQuietly(server);
            onEnd.accept(this);
        }
    }

    /** Closes with a reset instead of a farewell. */
    static void resetQuietly(@Nullable Socket socket) {
        if (socket == null) {
            return;
        }
        try {
            socket.setSoLinger(true, 0);
        } catch (IOException e) {
            // Closed already.
        }
        closeQuietly(socket);
    }

    private static void closeQuietly(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // Nothing can be done about a socket that does not close.
        }
    }
}
