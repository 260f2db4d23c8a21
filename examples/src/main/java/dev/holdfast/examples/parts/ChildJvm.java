package dev.holdfast.examples.parts;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * A main class in a JVM of its own, as the program that started it sees it: orders go to its standard input, and it says
 * lines on its standard output. Thread-safe.
 */
public final class ChildJvm implements AutoCloseable {

    private static final long FAREWELL_SECONDS = 10;

    private final Process process;
    private final PrintWriter orders;
    private final Thread reader;

    private ChildJvm(Process process, BiConsumer<ChildJvm, String> says) {
        this.process = process;
        this.orders = new PrintWriter(new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8), true);
        this.reader = new Thread(() -> read(says), "child-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Starts a JVM with the class path of this one.
     *
     * @param main what it runs
     * @param environment variables in addition to this process's environment; not on the command line, which others
     *     can see, because the address of a store may hold a password
     * @param log where its standard error is appended
     * @param says called with each line that it says, on a thread of its own
     * @return the running process
     * @throws IOException if it cannot be started
     */
    public static ChildJvm start(
            Class<?> main, Map<String, String> environment, Path log, BiConsumer<ChildJvm, String> says)
            throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx128m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName());
        builder.environment().putAll(environment);
        builder.redirectError(ProcessBuilder.Redirect.appendTo(new File(log.toString())));
        return new ChildJvm(builder.start(), says);
    }

    /**
     * Returns the process id.
     *
     * @return the operating system's number of the process
     */
    public long pid() {
        return process.pid();
    }

    /**
     * Returns whether the process runs.
     *
     * @return false once it has ended; may be stale on return
     */
    public boolean isAlive() {
        return process.isAlive();
    }

    /**
     * Sends an order; nothing happens if the process has ended.
     *
     * @param order one line
     */
    public void tell(String order) {
        orders.println(order);
    }

    /** SIGKILL: no shutdown hook, no release, no farewell. */
    public void kill() {
        process.destroyForcibly();
    }

    /**
     * Waits until the process has ended and all its output has been read.
     *
     * @param seconds how long at most
     * @throws InterruptedException if interrupted
     */
    public void awaitEnd(long seconds) throws InterruptedException {
        process.waitFor(seconds, TimeUnit.SECONDS);
        reader.join(TimeUnit.SECONDS.toMillis(FAREWELL_SECONDS));
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    private void read(BiConsumer<ChildJvm, String> says) {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                says.accept(this, line);
            }
        } catch (IOException e) {
            // The process was killed, and its output with it.
        }
    }
}
