package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.process.Machine;
import dev.holdfast.lock.testkit.server.process.ServerClock;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A Redis or Valkey server of its own, without persistence unless asked for. Thread-safe, as far as a test needs it: each
 * command has a connection of its own.
 */
public final class RedisServer implements AutoCloseable {
    private static final Pattern CALLS = Pattern.compile("cmdstat_([^:]+):calls=(\\d+)");
    private static final Set<String> SENT_BY_CLIENTS =
            Set.of("evalsha", "eval", "script|load", "wait", "subscribe", "ssubscribe", "ping");

    private final ServerProcess process;
    private final @Nullable ServerImage image;
    private final String[] login;

    private RedisServer(ServerProcess process, @Nullable ServerImage image, String... login) {
        this.process = process;
        this.image = image;
        this.login = login;
    }

    /**
     * Starts a server.
     *
     * @param options command line options after the defaults, such as {@code --appendonly yes}
     * @return the server, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer start(String... options) throws IOException, InterruptedException {
        return start(ServerImage.chosen("redis").orElse(null), options);
    }

    /**
     * Starts a server of a given version.
     *
     * @param image of Redis or Valkey, or null for the program of this machine
     * @param options command line options after the defaults, such as {@code --appendonly yes}
     * @return the server, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer start(@Nullable ServerImage image, String... options)
            throws IOException, InterruptedException {
        return new RedisServer(
                RedisProgram.server(image, environment -> List.of(options)).start(), image);
    }

    /**
     * Starts a server that sees a clock of the test's.
     *
     * @param clock what it takes for the time
     * @param options command line options after the defaults, such as {@code --appendonly yes}
     * @return the server, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer startWith(ServerClock clock, String... options) throws IOException, InterruptedException {
        return new RedisServer(
                clock.on(RedisProgram.server(null, environment -> List.of(options)))
                        .start(),
                null);
    }

    /**
     * Starts a server on a machine of a network.
     *
     * @param machine where
     * @param options command line options after the defaults, such as {@code --appendonly yes}
     * @return the server, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer startOn(Machine machine, String... options) throws IOException, InterruptedException {
        return new RedisServer(
                RedisProgram.server(null, environment -> open(options))
                        .on(machine)
                        .start(),
                null);
    }

    /** Otherwise it talks to its own machine only. */
    private static List<String> open(String... options) {
        List<String> all = new ArrayList<>(List.of("--protected-mode", "no"));
        all.addAll(List.of(options));
        return all;
    }

    /**
     * Starts a server that asks for a password.
     *
     * @param password of the default user
     * @param options command line options after the defaults
     * @return the server, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer startWithPassword(String password, String... options)
            throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of("--requirepass", password));
        all.addAll(List.of(options));
        ServerImage image = ServerImage.chosen("redis").orElse(null);
        ServerProcess process =
                RedisProgram.server(image, environment -> all, "AUTH", password).start();
        return new RedisServer(process, image, "AUTH", password);
    }

    /**
     * Starts a server that is to become a node of a cluster.
     *
     * @param options command line options after the defaults
     * @return the server, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer startClusterNode(String... options) throws IOException, InterruptedException {
        ServerImage image = ServerImage.chosen("redis").orElse(null);
        return new RedisServer(
                RedisProgram.server(image, environment -> RedisProgram.clusterNode(environment, options))
                        .start(),
                image);
    }

    /**
     * Starts a server on a machine of a network that is to become a node of a cluster.
     *
     * @param machine where
     * @param options command line options after the defaults
     * @return the server, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer startClusterNodeOn(Machine machine, String... options)
            throws IOException, InterruptedException {
        ServerProcess.Command all = environment ->
                RedisProgram.clusterNode(environment, open(options).toArray(String[]::new));
        return new RedisServer(RedisProgram.server(null, all).on(machine).start(), null);
    }

    /**
     * Starts a server with an encrypted port next to the plain one, {@link #tlsPort()}.
     *
     * @param certificate the server's certificate, PEM
     * @param key its key, PEM
     * @return the server, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer startTls(Path certificate, Path key) throws IOException, InterruptedException {
        ServerImage image = ServerImage.chosen("redis").orElse(null);
        ServerProcess process = RedisProgram.server(
                        image, environment -> RedisProgram.tls(environment, certificate, key))
                .reads(certificate)
                .reads(key)
                .start();
        return new RedisServer(process, image);
    }

    /**
     * Starts a server that asks for a password, with an encrypted port next to the plain one, {@link #tlsPort()}.
     *
     * @param certificate the server's certificate, PEM
     * @param key its key, PEM
     * @param password of the default user
     * @return the server, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer startTlsWithPassword(Path certificate, Path key, String password)
            throws IOException, InterruptedException {
        ServerImage image = ServerImage.chosen("redis").orElse(null);
        ServerProcess.Command options = environment -> {
            List<String> all = new ArrayList<>(RedisProgram.tls(environment, certificate, key));
            all.addAll(List.of("--requirepass", password));
            return all;
        };
        ServerProcess process = RedisProgram.server(image, options, "AUTH", password)
                .reads(certificate)
                .reads(key)
                .start();
        return new RedisServer(process, image, "AUTH", password);
    }

    /**
     * Starts a Sentinel that watches a master, and takes it for dead after a second of silence.
     *
     * @param group the master's group name
     * @param master the master
     * @param quorum how many Sentinels must agree
     * @return the Sentinel, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer startSentinel(String group, RedisServer master, int quorum)
            throws IOException, InterruptedException {
        return startSentinel(group, master, quorum, Duration.ofSeconds(1));
    }

    /**
     * Starts a Sentinel that watches a master.
     *
     * @param group the master's group name
     * @param master the master
     * @param quorum how many Sentinels must agree
     * @param silence after which the master counts as dead
     * @return the Sentinel, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer startSentinel(String group, RedisServer master, int quorum, Duration silence)
            throws IOException, InterruptedException {
        String config = RedisProgram.watching(group, master.host(), master.port(), quorum, silence);
        return new RedisServer(RedisProgram.sentinel(master.image, config).start(), master.image);
    }

    /**
     * Starts a Sentinel on a machine of a network that watches a master, and takes it for dead after a second of silence.
     *
     * @param machine where
     * @param group the master's group name
     * @param master the master
     * @param quorum how many Sentinels must agree
     * @return the Sentinel, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisServer startSentinelOn(Machine machine, String group, RedisServer master, int quorum)
            throws IOException, InterruptedException {
        String config = RedisProgram.watching(group, master.host(), master.port(), quorum, Duration.ofSeconds(1));
        return new RedisServer(RedisProgram.sentinel(null, config).on(machine).start(), null);
    }

    /**
     * The address that the server listens on.
     *
     * @return {@code 127.0.0.1}, or that of its machine
     */
    public String host() {
        return process.host();
    }

    /**
     * The server's plain port.
     *
     * @return the port, the same after a restart
     */
    public int port() {
        return process.port();
    }

    /**
     * The server's encrypted port, if it was started with TLS.
     *
     * @return the port
     */
    public int tlsPort() {
        return process.environment().port(1);
    }

    /**
     * The second port, that of the cluster bus.
     *
     * @return the port
     */
    public int busPort() {
        return process.environment().port(1);
    }

    /**
     * The image that the server runs from.
     *
     * @return the image, or empty for a program of this machine
     */
    public Optional<ServerImage> image() {
        return Optional.ofNullable(image);
    }

    /**
     * The process, to be paused, killed and restarted.
     *
     * @return the process
     */
    public ServerProcess process() {
        return process;
    }

    /**
     * Sends one command on a connection of its own.
     *
     * @param words the command and its arguments
     * @return text, Long, List or null
     * @throws IOException if the server cannot be reached or answers with an error
     */
    public @Nullable Object command(String... words) throws IOException {
        try (RespConnection connection = new RespConnection(host(), port())) {
            if (login.length > 0) {
                connection.command(login);
            }
            return connection.command(words);
        }
    }

    /**
     * Sends one command that answers with a list.
     *
     * @param words the command and its arguments
     * @return the list
     * @throws IOException if the server cannot be reached or answers otherwise
     */
    public List<?> list(String... words) throws IOException {
        if (command(words) instanceof List<?> list) {
            return list;
        }
        throw new IOException(this + ": no list in answer to " + words[0]);
    }

    /**
     * Sends one command that answers with a number.
     *
     * @param words the command and its arguments
     * @return the number
     * @throws IOException if the server cannot be reached or answers otherwise
     */
    public long number(String... words) throws IOException {
        if (command(words) instanceof Long number) {
            return number;
        }
        throw new IOException(this + ": no number in answer to " + words[0]);
    }

    /**
     * The version of Redis that the server is, or is compatible with.
     *
     * @return for example {@code 7.0.15}
     * @throws IOException if the server cannot be reached
     */
    public String version() throws IOException {
        return version("redis").orElse("unknown");
    }

    /**
     * The server's product and version.
     *
     * @return for example {@code redis 7.0.15} or {@code valkey 8.1.1}
     * @throws IOException if the server cannot be reached
     */
    public String product() throws IOException {
        return version("valkey").map(found -> "valkey " + found).orElse("redis " + version());
    }

    private Optional<String> version(String product) throws IOException {
        Matcher version =
                Pattern.compile(product + "_version:(\\S+)").matcher(String.valueOf(command("INFO", "server")));
        return version.find() ? Optional.of(version.group(1)) : Optional.empty();
    }

    /**
     * Counts the commands that lock clients have sent since the start: scripts, subscriptions and WAIT, but neither what
     * scripts do inside nor what this class sends.
     *
     * @return the number since the start or the last CONFIG RESETSTAT
     * @throws IOException if the server cannot be reached
     */
    public long lockCommands() throws IOException {
        long sum = 0;
        Matcher calls = CALLS.matcher(String.valueOf(command("INFO", "commandstats")));
        while (calls.find()) {
            if (SENT_BY_CLIENTS.contains(calls.group(1))) {
                sum += Long.parseLong(calls.group(2));
            }
        }
        return sum;
    }

    @Override
    public void close() {
        process.close();
    }

    @Override
    public String toString() {
        return process.toString();
    }
}
