package dev.holdfast.lock.testkit.support;

import dev.holdfast.lock.testkit.server.process.ProcessTree;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * A JVM of a test's own, to which the test sends lines. If it ends or writes nothing, the failure has what it wrote. For one thread at
 * a time.
 */
public final class ChildJvm implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final String END = "(end of its output)";

    private final Process process;
    private final PrintWriter in;
    private final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final List<String> seen = new ArrayList<>();

    private ChildJvm(Process process) {
        this.process = process;
        this.in = new PrintWriter(process.getOutputStream(), true, StandardCharsets.UTF_8);
        Thread reader = new Thread(this::read, "child-jvm-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Starts one with the test's class path.
     *
     * @param main the class whose {@code main} runs
     * @param args its arguments
     * @return the running JVM
     * @throws IOException if it cannot be started
     */
    public static ChildJvm start(Class<?> main, String... args) throws IOException {
        return start(ownClassPath(), main, args);
    }

    /**
     * Starts one with another class path.
     *
     * @param classPath where its classes are
     * @param main the class whose {@code main} runs
     * @param args its arguments
     * @return the running JVM
     * @throws IOException if it cannot be started
     */
    public static ChildJvm start(String classPath, Class<?> main, String... args) throws IOException {
        return new ChildJvm(new ProcessBuilder(command(List.of(), classPath, main, args))
                .redirectErrorStream(true)
                .start());
    }

    /**
     * Starts one with the test's class path and options for the JVM, which come after those that keep it small.
     *
     * @param options such as {@code -Xmx32m}
     * @param main the class whose {@code main} runs
     * @param args its arguments
     * @return the running JVM
     * @throws IOException if it cannot be started
     */
    public static ChildJvm startWith(List<String> options, Class<?> main, String... args) throws IOException {
        return new ChildJvm(new ProcessBuilder(command(options, ownClassPath(), main, args))
                .redirectErrorStream(true)
                .start());
    }

    /**
     * Starts one whose standard error is a file, so that only its standard output is awaited.
     *
     * @param errors the file, such as {@code /dev/full}
     * @param options for the JVM, such as {@code -Dname=value}
     * @param main the class whose {@code main} runs
     * @param args its arguments
     * @return the running JVM
     * @throws IOException if it cannot be started
     */
    public static ChildJvm startWithErrorsTo(File errors, List<String> options, Class<?> main, String... args)
            throws IOException {
        return new ChildJvm(new ProcessBuilder(command(options, ownClassPath(), main, args))
                .redirectError(errors)
                .start());
    }

    private static String ownClassPath() {
        return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    }

    private static List<String> command(List<String> options, String classPath, Class<?> main, String... args) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:-BytecodeVerificationRemote")); // starts sooner
        command.addAll(options);
        command.addAll(List.of("-cp", classPath, main.getName()));
        command.addAll(List.of(args));
        return command;
    }

    private void read() {
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                lines.add(line);
            }
        } catch (IOException e) {
            lines.add(e.toString());
        }
        lines.add(END);
    }

    /**
     * Writes a line to its standard input.
     *
     * @param line the line
     */
    public void send(String line) {
        in.println(line);
    }

    /**
     * Waits for a line that begins so.
     *
     * @param beginning of the line
     * @return the rest of the line, without spaces at its ends
     * @throws InterruptedException if interrupted
     */
    public String await(String beginning) throws InterruptedException {
        return await(beginning, line -> line.startsWith(beginning))
                .substring(beginning.length())
                .trim();
    }

    /**
     * Waits for a line that contains that, unless one has been seen.
     *
     * @param part of the line
     * @throws InterruptedException if interrupted
     */
    public void awaitSaid(String part) throws InterruptedException {
        if (seen.stream().noneMatch(line -> line.contains(part))) {
            await(part, line -> line.contains(part));
        }
    }

    private String await(String what, Predicate<String> wanted) throws InterruptedException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            String line = lines.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (line == null || line.equals(END)) {
                throw new AssertionError(
                        "child JVM " + process.pid() + (line == null ? " did not say '" : " ended before it said '")
                                + what + "'; it wrote:\n" + String.join("\n", seen));
            }
            seen.add(line);
            if (wanted.test(line)) {
                return line;
            }
        }
    }

    /**
     * Returns what it wrote so far, as far as it was awaited.
     *
     * @return the lines
     */
    public List<String> seen() {
        return List.copyOf(seen);
    }

    /** Fails, with what it wrote, if it has ended. */
    public void requireAlive() {
        if (!process.isAlive()) {
            lines.drainTo(seen);
            throw new AssertionError("child JVM " + process.pid() + " ended with status " + process.exitValue()
                    + "; it wrote:\n" + String.join("\n", seen));
        }
    }

    /** Stops it (SIGSTOP): returns when no thread of it runs any more. */
    public void pause() {
        ProcessTree.stop(process.toHandle());
    }

    /** Lets it go on (SIGCONT). */
    public void resume() {
        ProcessTree.resume(process.toHandle());
    }

    /**
     * Kills it (SIGKILL), and waits for its end.
     *
     * @throws InterruptedException if interrupted
     */
    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
