package dev.holdfast.lock.testkit.server.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Free loopback ports below the ephemeral range. A port of that range could be taken as the source port of some
 * connection while its server is down, and the restart on the same port would fail.
 *
 * <p>Other test JVMs of the same user do not choose a port that this one has chosen, also before its server listens and while it is
 * down: each has a byte of a file, which is locked as long as the port is given. The system unlocks it if the JVM dies.
 */
public final class LoopbackPorts {

    private static final int FIRST = 20_000;
    private static final int LAST = 32_000;
    private static final int TRIES = 1_000;
    private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();
    private static final Map<Integer, FileLock> LOCKS = new ConcurrentHashMap<>();
    private static final FileChannel FILE = open();

    private LoopbackPorts() {}

    private static FileChannel open() {
        Path path = Path.of(System.getProperty("java.io.tmpdir"), "holdfast-ports-" + System.getProperty("user.name"));
        try {
            return FileChannel.open(
                    path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot open " + path + ", which keeps test JVMs from choosing one port", e);
        }
    }

    public static int next() {
        for (int i = 0; i < TRIES; i++) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
            if (reserve(port)) {
                if (isFree(port)) {
                    return port;
                }
                giveBack(port);
            }
        }
        throw new IllegalStateException("no free loopback port between " + FIRST + " and " + LAST);
    }

    /** Whether neither this JVM nor another one had it. */
    public static boolean reserve(int port) {
        if (!GIVEN.add(port)) {
            return false;
        }
        try {
            FileLock lock = FILE.tryLock(port, 1, false);
            if (lock != null) {
                LOCKS.put(port, lock);
                return true;
            }
        } catch (OverlappingFileLockException e) {
            // This class, loaded a second time, has it.
        } catch (IOException e) {
            throw new UncheckedIOException("cannot reserve port " + port, e);
        }
        GIVEN.remove(port);
        return false;
    }

    public static void giveBack(int port) {
        FileLock lock = LOCKS.remove(port);
        if (lock != null) {
            try {
                lock.release();
            } catch (IOException e) {
                throw new UncheckedIOException("cannot give port " + port + " back", e);
            }
            GIVEN.remove(port);
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }
}
