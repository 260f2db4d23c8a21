package dev.holdfast.lock.testkit.server.process;

import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A real server in a process of its own, on free loopback ports, in a temporary folder; installed on this machine, or from
 * a container image.
 *
 * <pre>{@code
 * ServerProcess server = ServerProcess.builder("redis")
 *     .command(environment -> List.of(environment.program("redis-server"), "--port", "" + environment.port()))
 *     .ready(ServerProcess.acceptsConnections())
 *     .start();
 * }</pre>
 *
 * <p>The server is killed on {@link #close()}, when this JVM exits, and by a watcher process if this JVM is killed.
 *
 * <p>Thread-safe.
 */
public final class ServerProcess implements AutoCloseable {

    private static final Duration PROBE_PAUSE = Duration.ofMillis(30);

    /** For tests: a disk that others keep busy does not hold them up. What is kept in memory outlives the server's process as well. */
    private static final String MEMORY_PROPERTY = "holdfast.servers.memory";

    private static final Path MEMORY = Path.of("/dev/shm");
    private static final long ENOUGH_BYTES = 4L << 30;

    private final ReentrantLock lock = new ReentrantLock();
    private final Builder builder;
    private final ServerEnvironment environment;
    private final List<Integer> ports;
    private final Thread hook;
    private @Nullable ServerRun run;
    private boolean closed;

    private ServerProcess(Builder builder) throws IOException {
        this.builder = builder;
        this.ports = new ArrayList<>();
        for (int i = 0; i < builder.ports; i++) {
            ports.add(LoopbackPorts.next());
        }
        String prefix = "holdfast-" + builder.name.replaceAll("[^A-Za-z0-9]", "_") + "-";
        Path folder = Boolean.getBoolean(MEMORY_PROPERTY) && hasMemory()
                ? Files.createTempDirectory(MEMORY, prefix)
                : Files.createTempDirectory(prefix);
        this.environment = new ServerEnvironment(
                builder.name,
                folder,
                ports,
                UnprivilegedUser.choose(builder.unprivileged),
                builder.environment,
                builder.readable,
                builder.host());
        this.hook = new Thread(this::killQuietly, "holdfast-server-" + builder.name);
        Runtime.getRuntime().addShutdownHook(hook);
    }

    private static boolean hasMemory() throws IOException {
        return Files.isDirectory(MEMORY)
                && Files.isWritable(MEMORY)
                && Files.getFileStore(MEMORY).getUsableSpace() >= ENOUGH_BYTES;
    }

    /**
     * Starts to describe a server.
     *
     * @param name for messages, such as {@code redis}
     * @return a new builder
     */
    public static Builder builder(String name) {
        return new Builder(name);
    }

    /**
     * A probe that is content when the first port accepts connections.
     *
     * @return the probe
     */
    public static Step acceptsConnections() {
        return environment -> {
            try (java.net.Socket socket = new java.net.Socket()) {
                socket.connect(new java.net.InetSocketAddress(environment.host(), environment.port()), 1_000);
            }
        };
    }

    /**
     * What the server runs in; the same for all its starts.
     *
     * @return folder, ports and user
     */
    public ServerEnvironment environment() {
        return environment;
    }

    /**
     * The address that the server listens on.
     *
     * @return {@code 127.0.0.1}, or that of its {@link Machine}
     */
    public String host() {
        return environment.host();
    }

    /**
     * The server's first port.
     *
     * @return the port, the same after a restart
     */
    public int port() {
        return environment.port();
    }

    /**
     * The process id of the present or last start.
     *
     * @return the server's own process id, as the operating system shows it
     */
    public long pid() {
        return current().pid();
    }

    /**
     * Tells whether the process exists; a paused one does.
     *
     * @return whether it is there
     */
    public boolean isAlive() {
        return current().isAlive();
    }

    /** Stops the server and its children in their tracks (SIGSTOP): connections stay open and nothing answers. */
    public void pause() {
        current().pause();
    }

    /** Lets a paused server go on (SIGCONT). */
    public void resume() {
        current().resume();
    }

    /**
     * Kills the server and its children (SIGKILL) and waits until they are gone. Nothing happens if it is dead.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public void kill() throws InterruptedException {
        lock.lock();
        try {
            if (run != null) {
                run.kill();
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Starts the server again after {@link #kill()}, on the same ports and in the same folder, and waits until it is
     * ready.
     *
     * @throws IOException if it does not get ready; the message has the end of its log
     * @throws InterruptedException if interrupted while waiting
     * @throws IllegalStateException if it is running or closed
     */
    public void start() throws IOException, InterruptedException {
        lock.lock();
        try {
            if (closed || (run != null && run.isAlive())) {
                throw new IllegalStateException(environment + " is " + (closed ? "closed" : "running already"));
            }
            ServerRun started = environment.launch(builder.requiredCommand().of(environment));
            run = started;
            awaitReady(started);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Kills the server and starts it again.
     *
     * @throws IOException if it does not get ready; the message has the end of its log
     * @throws InterruptedException if interrupted while waiting
     */
    public void restart() throws IOException, InterruptedException {
        kill();
        start();
    }

    /** Kills the server and deletes its folder. Idempotent. */
    @Override
    public void close() {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
        } finally {
            lock.unlock();
        }
        killQuietly();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM is shutting down and the hook runs in any case.
        }
        ports.forEach(LoopbackPorts::giveBack);
    }

    @Override
    public String toString() {
        return environment.toString();
    }

    private ServerRun current() {
        lock.lock();
        try {
            return Objects.requireNonNull(run, "not started");
        } finally {
            lock.unlock();
        }
    }

    private void awaitReady(ServerRun started) throws IOException, InterruptedException {
        long startNanos = System.nanoTime();
        Exception last = null;
        while (System.nanoTime() - startNanos < builder.patience.toNanos()) {
            try {
                builder.ready.run(environment);
                if (started.isAlive()) {
                    return;
                }
            } catch (InterruptedException e) {
                throw e;
            } catch (Exception e) {
                last = e;
            }
            OptionalLong status = started.awaitEnd(PROBE_PAUSE);
            if (status.isPresent()) {
                throw new IOException(
                        environment + " ended with status " + status.getAsLong() + " before it was ready; its log:\n"
                                + environment.logTail(),
                        last);
            }
        }
        String log = environment.logTail();
        kill();
        throw new IOException(environment + " was not ready within " + builder.patience + "; its log:\n" + log, last);
    }

    private void killQuietly() {
        try {
            kill();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            environment.delete();
        }
    }

    /** Something done in a server's environment: preparing a folder, or probing whether the server answers. */
    @FunctionalInterface
    public interface Step {
        /**
         * Does it.
         *
         * @param environment folder and ports
         * @throws Exception if it failed, or for a probe, if the server is not ready yet
         */
        void run(ServerEnvironment environment) throws Exception;
    }

    /** Makes the command line of a server. */
    @FunctionalInterface
    public interface Command {
        /**
         * Makes it.
         *
         * @param environment folder and ports
         * @return the program and its arguments; it must stay in the foreground
         */
        List<String> of(ServerEnvironment environment);
    }

    /** Describes a server. Not thread-safe. */
    public static final class Builder {
        private final String name;
        private final Map<String, String> environment = new LinkedHashMap<>();
        private @Nullable Command command;
        private Step prepare = environment -> {};
        private Step ready = acceptsConnections();
        private Duration patience = Duration.ofSeconds(60);
        private final List<Path> readable = new ArrayList<>();
        private @Nullable ServerImage image;
        private @Nullable Machine machine;
        private boolean unprivileged;
        private int ports = 1;

        private Builder(String name) {
            this.name = Objects.requireNonNull(name, "name");
        }

        /**
         * The server's command line. Required.
         *
         * @param command called at each start
         * @return this
         */
        public Builder command(Command command) {
            this.command = Objects.requireNonNull(command, "command");
            return this;
        }

        /**
         * What to do once before the first start, in the server's folder.
         *
         * @param prepare such as {@code initdb}, by {@link ServerEnvironment#run}
         * @return this
         */
        public Builder prepare(Step prepare) {
            this.prepare = Objects.requireNonNull(prepare, "prepare");
            return this;
        }

        /**
         * The probe that succeeds when the server answers, called every 30 ms; by default
         * {@link ServerProcess#acceptsConnections()}.
         *
         * @param ready returns normally when the server is ready
         * @return this
         */
        public Builder ready(Step ready) {
            this.ready = Objects.requireNonNull(ready, "ready");
            return this;
        }

        /**
         * How long a start may take; by default 60 s.
         *
         * @param patience positive
         * @return this
         */
        public Builder patience(Duration patience) {
            this.patience = Objects.requireNonNull(patience, "patience");
            return this;
        }

        /**
         * Asks for another user than root, for servers that refuse to run as root. Without effect for other users.
         *
         * @return this
         */
        public Builder unprivileged() {
            this.unprivileged = true;
            return this;
        }

        /**
         * How many ports the server needs; by default 1.
         *
         * @param ports positive
         * @return this
         */
        public Builder ports(int ports) {
            this.ports = ports;
            return this;
        }

        /**
         * Sets a variable of the server's environment.
         *
         * @param variable its name
         * @param value its value
         * @return this
         */
        public Builder environment(String variable, String value) {
            environment.put(variable, value);
            return this;
        }

        /**
         * Runs the server in a container, or on this machine, which is the default.
         *
         * @param image the image, or null for this machine
         * @return this
         */
        public Builder image(@Nullable ServerImage image) {
            this.image = image;
            return this;
        }

        /**
         * Runs the server on a machine of a {@link ServerNetwork}, instead of {@link #image}.
         *
         * @param machine where, or null for this machine and its loopback address, which is the default
         * @return this
         */
        public Builder on(@Nullable Machine machine) {
            this.machine = machine;
            return this;
        }

        /**
         * Names a file outside the server's folder that the server reads, so that a container has it as well.
         *
         * @param file a file or folder
         * @return this
         */
        public Builder reads(Path file) {
            readable.add(file.toAbsolutePath());
            return this;
        }

        /**
         * Starts the server and waits until it is ready.
         *
         * @return the running server
         * @throws IOException if it cannot be prepared, or does not get ready; the message has the end of its log
         * @throws InterruptedException if interrupted while waiting
         * @throws IllegalStateException if a binary is missing; the message says how to install it
         */
        public ServerProcess start() throws IOException, InterruptedException {
            requiredCommand();
            ServerProcess server = new ServerProcess(this);
            try {
                prepare.run(server.environment);
                server.start();
                return server;
            } catch (IOException | InterruptedException | RuntimeException e) {
                server.close();
                throw e;
            } catch (Exception e) {
                server.close();
                throw new IOException(server.environment + ": cannot prepare it", e);
            }
        }

        private ServerHost host() {
            if (machine != null) {
                return machine.host();
            }
            return image == null ? ThisMachine.INSTANCE : image.host();
        }

        private Command requiredCommand() {
            return Objects.requireNonNull(command, "command");
        }
    }
}
