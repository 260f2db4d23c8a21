package dev.holdfast.lock.testkit.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A memcached of its own. Needs the binary {@code memcached} on the path. Thread-safe, as far as a test needs it: each command
 * has a connection of its own.
 */
public final class MemcachedServer implements AutoCloseable {
    private static final int TIMEOUT_MILLIS = 10_000;
    private static final List<String> LAST = List.of(
            "END",
            "OK",
            "STORED",
            "NOT_STORED",
            "EXISTS",
            "NOT_FOUND",
            "DELETED",
            "TOUCHED",
            "ERROR",
            "VERSION",
            "CLIENT_ERROR",
            "SERVER_ERROR",
            "RESET");

    private final ServerProcess process;
    private final @Nullable String login;

    private MemcachedServer(ServerProcess process, @Nullable String login) {
        this.process = process;
        this.login = login;
    }

    /**
     * Starts a server.
     *
     * @param options command line options after the defaults, such as {@code -m 2}
     * @return the server, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static MemcachedServer start(String... options) throws IOException, InterruptedException {
        return new MemcachedServer(
                program(null, options)
                        .ready(environment -> ping(environment, null))
                        .start(),
                null);
    }

    /**
     * Starts a server that asks for a user and a password, by the text protocol.
     *
     * @param user without blanks and colons
     * @param password without line ends
     * @param options command line options after the defaults
     * @return the server, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static MemcachedServer startWithPassword(String user, String password, String... options)
            throws IOException, InterruptedException {
        String login = user + " " + password;
        return new MemcachedServer(
                program(user + ":" + password + "\n", options)
                        .ready(environment -> ping(environment, login))
                        .start(),
                login);
    }

    /**
     * Starts a server whose only port is encrypted, so that {@link #command} does not work.
     *
     * @param certificate the server's certificate, PEM
     * @param key its key, PEM
     * @return the server, listening
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static MemcachedServer startTls(Path certificate, Path key) throws IOException, InterruptedException {
        return new MemcachedServer(
                program(null, "-Z", "-o", "ssl_chain_cert=" + certificate + ",ssl_key=" + key)
                        .reads(certificate)
                        .reads(key)
                        .start(),
                null);
    }

    private static ServerProcess.Builder program(@Nullable String users, String... options) {
        return ServerProcess.builder("memcached")
                .prepare(environment -> {
                    if (users != null) {
                        environment.write("users", users);
                    }
                })
                .command(environment -> {
                    List<String> command = new ArrayList<>(List.of(
                            environment.program(List.of("memcached")),
                            "-l",
                            environment.host(),
                            "-p",
                            "" + environment.port(),
                            "-U",
                            "0",
                            "-u",
                            System.getProperty("user.name")));
                    if (users != null) {
                        command.addAll(List.of(
                                "-Y", environment.folder().resolve("users").toString()));
                    }
                    command.addAll(List.of(options));
                    return command;
                });
    }

    /**
     * The address that the server listens on.
     *
     * @return {@code 127.0.0.1}
     */
    public String host() {
        return process.host();
    }

    /**
     * The server's port.
     *
     * @return the port, the same after a restart
     */
    public int port() {
        return process.port();
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
     * @param line the command; with a block of data, {@code \r\n} and the block
     * @return the lines of the answer, without the last one if that is {@code END}
     * @throws IOException if the server cannot be reached
     */
    public List<String> command(String line) throws IOException {
        return command(host(), port(), login, line);
    }

    /**
     * Reads a number of {@code stats}.
     *
     * @param name such as {@code cmd_set}
     * @return its value
     * @throws IOException if the server cannot be reached or does not count that
     */
    public long stat(String name) throws IOException {
        String value = stats().get(name);
        if (value == null) {
            throw new IOException(this + ": no stat " + name);
        }
        return Long.parseLong(value);
    }

    private Map<String, String> stats() throws IOException {
        Map<String, String> all = new LinkedHashMap<>();
        for (String line : command("stats")) {
            String[] words = line.split(" ", 3);
            all.put(words[1], words[2]);
        }
        return all;
    }

    /**
     * The server's version.
     *
     * @return for example {@code 1.6.18}
     * @throws IOException if the server cannot be reached
     */
    public String version() throws IOException {
        return command("version").get(0).replaceFirst("^VERSION ", "");
    }

    private static void ping(ServerEnvironment environment, @Nullable String login) throws IOException {
        command(environment.host(), environment.port(), login, "version");
    }

    private static List<String> command(String host, int port, @Nullable String login, String line) throws IOException {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(host, port), TIMEOUT_MILLIS);
            socket.setSoTimeout(TIMEOUT_MILLIS);
            BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream(), ISO_8859_1));
            if (login != null) {
                send(socket, "set login 0 0 " + login.getBytes(ISO_8859_1).length + "\r\n" + login);
                answer(in);
            }
            send(socket, line);
            return answer(in);
        }
    }

    private static void send(Socket socket, String line) throws IOException {
        socket.getOutputStream().write((line + "\r\n").getBytes(ISO_8859_1));
        socket.getOutputStream().flush();
    }

    private static List<String> answer(BufferedReader in) throws IOException {
        List<String> lines = new ArrayList<>();
        while (true) {
            String line = in.readLine();
            if (line == null) {
                throw new IOException("memcached has closed the connection");
            }
            if (line.equals("END")) {
                return lines;
            }
            lines.add(line);
            if (LAST.contains(line.split(" ", 2)[0]) || line.matches("\\d+")) {
                return lines;
            }
        }
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
