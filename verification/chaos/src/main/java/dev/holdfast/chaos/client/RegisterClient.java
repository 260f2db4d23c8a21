package dev.holdfast.chaos.client;

import dev.holdfast.chaos.register.Register;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;

/** A connection to the {@link Register}. For one thread at a time. */
final class RegisterClient implements AutoCloseable {

    /** What a holder saw, and for how long it is to stay at least. */
    record Seen(boolean allowed, long guarded, long unguarded, long stayMillis) {}

    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;

    RegisterClient(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
    }

    /** Says who is there, and waits for the word to stop; returns false if the controller has gone. */
    boolean awaitStop(int client, int incarnation) {
        try {
            out.writeByte(Register.HELLO);
            out.writeInt(client);
            out.writeInt(incarnation);
            out.flush();
            return in.read() == Register.STOP;
        } catch (IOException e) {
            return false;
        }
    }

    /** Reads both values; the guarded one is refused to who has an older token than was seen before. */
    Seen read(int name, long token, long holder) throws IOException {
        send(Register.READ, name, token, holder);
        out.flush();
        return new Seen(in.readBoolean(), in.readLong(), in.readLong(), in.readLong());
    }

    /**
     * Reads both values with a share; the guarded one is refused to a client with an older token than an exclusive holder has shown.
     * The base is what was read before, {@link Register#NOTHING} the first time.
     */
    Seen readShared(int name, long token, long holder, long base) throws IOException {
        send(Register.READ_SHARED, name, token, holder);
        out.writeLong(base);
        out.flush();
        return new Seen(in.readBoolean(), in.readLong(), in.readLong(), in.readLong());
    }

    /** Writes both values, each as one more than what was read. Returns whether the guarded write was accepted. */
    boolean write(int name, long token, long holder, Seen base) throws IOException {
        send(Register.WRITE, name, token, holder);
        out.writeLong(base.guarded());
        out.writeLong(base.unguarded());
        out.flush();
        return in.readBoolean();
    }

    private void send(int what, int name, long token, long holder) throws IOException {
        out.writeByte(what);
        out.writeInt(name);
        out.writeLong(token);
        out.writeLong(holder);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
