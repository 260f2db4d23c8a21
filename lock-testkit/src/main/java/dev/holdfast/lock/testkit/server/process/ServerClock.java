package dev.holdfast.lock.testkit.server.process;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * A wall clock that a test sets forward and back, for the servers that are started with it; their monotonic clock goes on. A small
 * library does it, which is loaded before the C library, so it works with programs that ask that one: not with those in Go, and not in
 * containers. (libfaketime makes Redis 7 call itself without end.) Needs a C compiler, as {@code bin/check-models} does, and Linux.
 *
 * <p>Thread-safe.
 */
public final class ServerClock implements AutoCloseable {
    private static final String SOURCE = "server-clock.c";

    private final Path folder;
    private final Path library;
    private final Path file;
    private final MappedByteBuffer shift;

    private ServerClock(Path folder) throws IOException {
        this.folder = folder;
        this.library = folder.resolve("server-clock.so");
        this.file = folder.resolve("shift");
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(Long.BYTES));
            this.shift = channel.map(FileChannel.MapMode.READ_WRITE, 0, Long.BYTES);
            shift.order(ByteOrder.nativeOrder());
        }
    }

    /**
     * Makes one that shows the true time.
     *
     * @return the clock, to be closed behind its servers
     * @throws IOException if it cannot be made; the message has what the compiler said
     * @throws InterruptedException if interrupted while the compiler works
     * @throws IllegalStateException if there is no C compiler; the message says how to install one
     */
    public static ServerClock start() throws IOException, InterruptedException {
        // Servers that refuse to run as root have to read it.
        ServerClock clock = new ServerClock(Files.createTempDirectory(
                "holdfast-clock-", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x"))));
        clock.compile();
        return clock;
    }

    private void compile() throws IOException, InterruptedException {
        Path source = folder.resolve(SOURCE);
        try (InputStream text = Objects.requireNonNull(ServerClock.class.getResourceAsStream(SOURCE), SOURCE)) {
            Files.copy(text, source);
        }
        String compiler = ServerBinary.find(List.of("gcc", "cc")).toString();
        Process process = new ProcessBuilder(compiler, "-shared", "-fPIC", "-O1", "-o", "" + library, "" + source)
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(compiler + " does not compile " + SOURCE + ": " + said);
        }
    }

    /**
     * Sets the clock.
     *
     * @param ahead how far ahead of the true time it is from now on, in whole seconds; negative: behind it
     */
    public void set(Duration ahead) {
        shift.putLong(0, ahead.toSeconds());
        shift.force();
    }

    /** The server sees this clock. */
    public ServerProcess.Builder on(ServerProcess.Builder server) {
        return server.environment("LD_PRELOAD", library.toString()).environment("HOLDFAST_CLOCK_FILE", file.toString());
    }

    /** Deletes its files. */
    @Override
    public void close() throws IOException {
        for (Path each : List.of(folder.resolve(SOURCE), library, file, folder)) {
            Files.deleteIfExists(each);
        }
    }
}
