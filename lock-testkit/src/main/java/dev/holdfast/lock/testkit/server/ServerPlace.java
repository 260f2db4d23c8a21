package dev.holdfast.lock.testkit.server;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Where a test server lives: its folder, its ports and the user it runs as. Immutable and thread-safe.
 */
public final class ServerPlace {

    private static final int LOG_TAIL = 4_000;

    private final String server;
    private final Path folder;
    private final List<Integer> ports;
    private final UnprivilegedUser user;
    private final Map<String, String> environment;

    ServerPlace(
            String server, Path folder, List<Integer> ports, UnprivilegedUser user, Map<String, String> environment) {
        this.server = server;
        this.folder = folder;
        this.ports = List.copyOf(ports);
        this.user = user;
        this.environment = Map.copyOf(environment);
    }

    /**
     * The loopback address that the server is to listen on.
     *
     * @return {@code 127.0.0.1}
     */
    public String host() {
        return "127.0.0.1";
    }

    /**
     * The server's first port.
     *
     * @return a port below the ephemeral range that was free when it was chosen
     */
    public int port() {
        return port(0);
    }

    /**
     * One of the server's ports.
     *
     * @param index from 0 up to what {@link ServerProcess.Builder#ports} asked for
     * @return a port below the ephemeral range that was free when it was chosen
     */
    public int port(int index) {
        return ports.get(index);
    }

    /**
     * A temporary folder of the server's own, which the user that it runs as can write to. Deleted on close.
     *
     * @return an absolute path
     */
    public Path folder() {
        return folder;
    }

    /**
     * The server's standard output and error, of all its starts.
     *
     * @return a file in {@link #folder()}
     */
    public Path log() {
        return folder.resolve("server.log");
    }

    /**
     * Writes a file into the server's folder and gives it to the user that the server runs as.
     *
     * @param name relative to {@link #folder()}
     * @param content text, stored as UTF-8
     * @return the file
     * @throws IOException if it cannot be written
     */
    public Path write(String name, String content) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, content, StandardCharsets.UTF_8);
        own();
        return file;
    }

    /**
     * Runs a command to its end, as the user that the server runs as, in {@link #folder()}: {@code initdb}, say.
     *
     * @param command the program and its arguments
     * @return what it printed, output and errors together
     * @throws IOException if it cannot be started, or ends with another status than 0; the message has its output
     * @throws InterruptedException if interrupted while waiting
     */
    public String run(String... command) throws IOException, InterruptedException {
        own();
        Path output = Files.createTempFile("holdfast-" + server, ".out");
        try {
            Process process = processBuilder(Arrays.asList(command))
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended = process.waitFor(Duration.ofMinutes(2).toSeconds(), TimeUnit.SECONDS);
            if (!ended) {
                process.destroyForcibly();
            }
            String text = Files.readString(output, StandardCharsets.ISO_8859_1);
            if (!ended || process.exitValue() != 0) {
                throw new IOException(server + ": '" + String.join(" ", command) + "' "
                        + (ended ? "ended with status " + process.exitValue() : "did not end within 2 minutes") + ":\n"
                        + text);
            }
            return text;
        } finally {
            Files.deleteIfExists(output);
        }
    }

    /** Starts the server's command with its output appended to the log. */
    Process launch(List<String> command) throws IOException {
        own();
        return processBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()))
                .start();
    }

    /** The end of the log, for messages. */
    String logTail() {
        try {
            String text = Files.readString(log(), StandardCharsets.ISO_8859_1);
            return text.length() <= LOG_TAIL ? text : "…" + text.substring(text.length() - LOG_TAIL);
        } catch (IOException e) {
            return "(no log: " + e.getMessage() + ")";
        }
    }

    void delete() {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException | java.io.UncheckedIOException e) {
            // A folder in the temporary directory that stays behind harms nobody.
        }
    }

    private ProcessBuilder processBuilder(List<String> command) {
        List<String> full = new ArrayList<>(user.prefix());
        full.addAll(command);
        ProcessBuilder builder =
                new ProcessBuilder(full).directory(folder.toFile()).redirectErrorStream(true);
        builder.redirectInput(new File("/dev/null"));
        builder.environment().putAll(environment);
        return builder;
    }

    private void own() throws IOException {
        user.own(folder);
    }

    @Override
    public String toString() {
        return server + " on " + host() + ":"
                + ports.stream().map(String::valueOf).collect(Collectors.joining(",")) + " in " + folder;
    }
}
