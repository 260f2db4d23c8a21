package dev.holdfast.lock.testkit.server.process;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A disk of some megabytes that a test fills, and frees again: a file system of its own (tmpfs), so that a server which keeps its files
 * there gets the operating system's own answer, ENOSPC. Needs Linux and the right to mount, which root has.
 *
 * <pre>{@code
 * try (SmallDisk disk = SmallDisk.mount(16);
 *         RedisServer server = RedisServer.start("--dir", disk.folder().toString(), "--appendonly", "yes")) {
 *     disk.fill();
 *     …
 *     disk.free();
 * }
 * }</pre>
 *
 * <p>It is unmounted on {@link #close()}, and by a watcher process if this JVM is killed. Not thread-safe.
 */
public final class SmallDisk implements AutoCloseable {
    private static final String FILLER = "filler-of-the-test";
    private static final int PIECE = 1 << 16;
    private static final long PATIENCE_SECONDS = 30;

    private final Path folder;
    private final Process guard;

    private SmallDisk(Path folder, Process guard) {
        this.folder = folder;
        this.guard = guard;
    }

    /**
     * Mounts an empty disk that every user can write to.
     *
     * @param megabytes its size
     * @return the disk
     * @throws IOException if that is not possible here; the message says why
     * @throws InterruptedException if interrupted while waiting
     */
    public static SmallDisk mount(int megabytes) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("holdfast-disk-");
        try {
            run("mount", "-t", "tmpfs", "-o", "size=" + megabytes + "m,mode=1777", "holdfast", folder.toString());
            Process guard = new ProcessBuilder(
                            "sh", "-c", "read _; umount -l \"$1\"; rmdir \"$1\"", "holdfast-guard", folder.toString())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return new SmallDisk(folder, guard);
        } catch (IOException e) {
            Files.delete(folder);
            throw new IOException("no small disk here, which needs Linux and root: " + e.getMessage(), e);
        }
    }

    private static void run(String... command) throws IOException, InterruptedException {
        Process process =
                new ProcessBuilder(List.of(command)).redirectErrorStream(true).start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
            throw new IOException("'" + String.join(" ", command) + "' failed: " + text.strip());
        }
    }

    /**
     * Returns where it is.
     *
     * @return an absolute path
     */
    public Path folder() {
        return folder;
    }

    /**
     * Takes all that is free on it. What others free later stays free until the next call.
     *
     * @throws IOException if it cannot be written to for another reason
     */
    public void fill() throws IOException {
        Path filler = folder.resolve(FILLER);
        for (int size = PIECE; size > 0; size /= 2) {
            try (OutputStream out =
                    Files.newOutputStream(filler, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
                while (true) {
                    out.write(new byte[size]);
                }
            } catch (IOException e) {
                if (!String.valueOf(e.getMessage()).contains("No space left")) {
                    throw e;
                }
            }
        }
    }

    /**
     * Gives back what {@link #fill} took.
     *
     * @throws IOException if that fails
     */
    public void free() throws IOException {
        Files.deleteIfExists(folder.resolve(FILLER));
    }

    /** Removes it with all that is on it; servers that have files on it have to be closed before. Idempotent. */
    @Override
    public void close() throws IOException {
        guard.getOutputStream().close(); // ends its wait
        try {
            if (!guard.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException(folder + " was not unmounted within " + PATIENCE_SECONDS + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return "small disk " + folder;
    }
}
