package dev.holdfast.chaos.memory;

import dev.holdfast.chaos.mutant.Mutants;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spi.LockBackend;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.function.Supplier;

/**
 * A {@link MemoryStore} behind a port, in a process of its own. What it holds ends with it, so it may be paused and cut
 * off, but not killed.
 */
public final class MemoryServer {
    private MemoryServer() {}

    /**
     * Serves until it is killed.
     *
     * @param arguments the port, and the name of what is wrong with it
     * @throws IOException if it cannot listen
     */
    public static void main(String[] arguments) throws IOException {
        Supplier<LockBackend> backends = Mutants.server(arguments[1], MemoryStore.create());
        try (ServerSocket listener =
                new ServerSocket(Integer.parseInt(arguments[0]), 1_024, InetAddress.getLoopbackAddress())) {
            while (true) {
                Socket socket = listener.accept();
                socket.setTcpNoDelay(true);
                Thread thread = new Thread(
                        new MemoryConnection(socket, backends.get(), Mutants.handedMillis(arguments[1])),
                        "chaos-memory-server-" + socket.getPort());
                thread.setDaemon(true);
                thread.start();
            }
        }
    }
}
