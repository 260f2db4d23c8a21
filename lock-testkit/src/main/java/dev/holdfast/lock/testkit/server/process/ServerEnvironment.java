package dev.holdfast.lock.testkit.server.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What a test server runs in: its folder, its ports, its user and its environment variables. Immutable and thread-safe. */
public final class ServerEnvironment {

    private static final int LOG_TAIL = 4_000;

    private final String server;
    private final Path folder;
    private final List<Integer> ports;
    private final UnprivilegedUser user;
    private final Map<String, String> variables;
    private final List<Path> readable;
    private final ServerHost host;

    ServerEnvironment(
            String server,
            Path folder,
            List<Integer> ports,
            UnprivilegedUser user,
            Map<String, String> variables,
            List<Path> readable,
            ServerHost host) {
        this.server = server;
        this.folder = folder;
        this.ports = List.copyOf(ports);
        this.user = user;
        this.variables = Map.copyOf(variables);
        this.readable = List.copyOf(readable);
        this.host = host;
    }

    /**
     * The address that the server is to listen on.
     *
     * @return {@code 127.0.0.1}, or that of its {@link Machine}
     */
    public String host() {
        return host.address();
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
        return host.run(this, List.of(command));
    }

    /**
     * Finds a program for {@link #run} and {@link ServerProcess.Builder#command}, on this machine or in the server's image.
     *
     * @param name such as {@code redis-server}
     * @param folders more folders of this machine to look in, as {@link ServerBinary#find} does
     * @return what a command line begins with
     * @throws IllegalStateException if it is not installed; the message says how to install it
     */
    public String program(String name, String... folders) {
        return host.program(List.of(name), folders);
    }

    public String program(List<String> names, String... folders) {
        return host.program(names, folders);
    }

    /** Starts the server's command with its output appended to the log. */
    ServerRun launch(List<String> command) throws IOException {
        own();
        return host.launch(this, command);
    }

    UnprivilegedUser user() {
        return user;
    }

    /** Environment variables that are set for the server beyond those of this process. */
    Map<String, String> variables() {
        return variables;
    }

    /** Files outside the folder that the server reads. */
    List<Path> readable() {
        return readable;
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
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(java.io.File::delete);
        } catch (IOException | java.io.UncheckedIOException e) {
            // A folder in the temporary directory that stays behind is harmless.
        }
    }

    void own() throws IOException {
        user.own(folder);
    }

    @Override
    public String toString() {
        return server + " on " + host() + ":"
                + ports.stream().map(String::valueOf).collect(Collectors.joining(",")) + " in " + folder;
    }
}
