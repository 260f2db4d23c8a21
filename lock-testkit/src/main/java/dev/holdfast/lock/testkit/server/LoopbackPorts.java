package dev.holdfast.lock.testkit.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Free loopback ports below the ephemeral range. A port of that range could be taken as the source port of some
 * connection while its server is down, and the restart on the same port would fail.
 */
final class LoopbackPorts {

    private static final int FIRST = 20_000;
    private static final int LAST = 32_000;
    private static final int TRIES = 1_000;
    private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();

    private LoopbackPorts() {}

    static int next() {
        for (int i = 0; i < TRIES; i++) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
            if (isFree(port) && GIVEN.add(port)) {
                return port;
            }
        }
        throw new IllegalStateException("no free loopback port between " + FIRST + " and " + LAST);
    }

    static void giveBack(int port) {
        GIVEN.remove(port);
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }
}
