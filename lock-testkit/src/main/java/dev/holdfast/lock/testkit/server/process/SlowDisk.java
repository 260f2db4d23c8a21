package dev.holdfast.lock.testkit.server.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A disk that takes its time, for a server that is running: each write that the server forces to the disk (fsync, fdatasync) waits
 * before it begins. The program {@code strace} does it, so it works with servers in all languages and needs no preparation of them; each
 * other call of the server to its system costs some microseconds more. Needs Linux, and the right to look into the server: as root, or
 * where processes of one user may trace each other.
 *
 * <pre>{@code
 * try (SlowDisk disk = SlowDisk.of(server, Duration.ofMillis(500))) {
 *     …
 * }
 * }</pre>
 *
 * <p>Thread-safe.
 */
public final class SlowDisk implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 10;
    private static final String CALLS = "fsync,fdatasync";

    private final Process tracer;

    private SlowDisk(Process tracer) {
        this.tracer = tracer;
    }

    /**
     * Tells why there is none on this machine.
     *
     * @return the reason for people; empty if the program is there
     */
    public static Optional<String> missing() {
        try {
            ServerBinary.find(List.of("strace"));
            return Optional.empty();
        } catch (IllegalStateException notThere) {
            return Optional.of(String.valueOf(notThere.getMessage()));
        }
    }

    /**
     * Makes the disk slow until {@link #close()}, for the server and its children, and for those that it starts meanwhile.
     *
     * @param server one that runs as a process of this machine
     * @param each how long each forced write waits; whole microseconds count
     * @return the slow disk
     * @throws IOException if the server may not be traced; the message has what strace said
     * @throws InterruptedException if interrupted before it is slow
     * @throws IllegalStateException if there is no strace
     */
    public static SlowDisk of(ServerProcess server, Duration each) throws IOException, InterruptedException {
        ProcessHandle root = ProcessHandle.of(server.pid())
                .orElseThrow(() -> new IOException(server + " is not running, so its disk cannot be slow"));
        String delay = ":delay_enter=" + TimeUnit.NANOSECONDS.toMicros(each.toNanos());
        List<String> command = new ArrayList<>(List.of(
                ServerBinary.find(List.of("strace")).toString(),
                "-f",
                "-qqq",
                "-o",
                "/dev/null",
                "-e",
                "trace=" + CALLS,
                "-e",
                "inject=" + CALLS + delay));
        Stream.concat(Stream.of(root), root.descendants())
                .forEach(process -> command.addAll(List.of("-p", Long.toString(process.pid()))));
        SlowDisk disk = new SlowDisk(
                new ProcessBuilder(command).redirectErrorStream(true).start());
        try {
            disk.awaitTraced(root, server);
            return disk;
        } catch (IOException | InterruptedException | RuntimeException e) {
            disk.close();
            throw e;
        }
    }

    private void awaitTraced(ProcessHandle root, ServerProcess server) throws IOException, InterruptedException {
        long start = System.nanoTime();
        while (!isTraced(root)) {
            if (tracer.waitFor(5, TimeUnit.MILLISECONDS)) {
                throw new IOException("strace does not trace " + server + ": "
                        + new String(tracer.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip());
            }
            if (System.nanoTime() - start > TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS)) {
                throw new IOException("strace did not trace " + server + " within " + PATIENCE_SECONDS + " s");
            }
        }
    }

    /** All threads of it: those that force writes are rarely the first. */
    private boolean isTraced(ProcessHandle root) throws IOException {
        String line = "TracerPid:\t" + tracer.pid();
        try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(root.pid()), "task"))) {
            for (Path thread : threads.toList()) {
                if (!Files.readString(thread.resolve("status")).contains(line)) {
                    return false;
                }
            }
            return true;
        } catch (NoSuchFileException threadHasEnded) {
            return false;
        }
    }

    /** The disk is as before, and waits for it end. */
    @Override
    public void close() {
        tracer.destroy();
        boolean interrupted = false;
        try {
            if (tracer.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            interrupted = true;
        }
        tracer.destroyForcibly();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
