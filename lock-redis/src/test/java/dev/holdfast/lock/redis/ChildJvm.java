package dev.holdfast.lock.redis;

import java.io.BufferedReader;
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

/** A JVM of a test's own, which is talked to by lines. If it dies or keeps silent, the failure has what it wrote. */
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

    public static ChildJvm start(Class<?> main, String... args) throws IOException {
        return start(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), main, args);
    }

    public static ChildJvm start(String classPath, Class<?> main, String... args) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                classPath,
                main.getName()));
        command.addAll(List.of(args));
        return new ChildJvm(
                new ProcessBuilder(command).redirectErrorStream(true).start());
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

    public void send(String line) {
        in.println(line);
    }

    /** Waits for a line that begins so, and returns its rest. */
    public String await(String beginning) throws InterruptedException {
        return await(beginning, line -> line.startsWith(beginning))
                .substring(beginning.length())
                .trim();
    }

    /** Waits for a line that contains that, unless one has been seen. */
    void awaitSaid(String part) throws InterruptedException {
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

    /** What it wrote so far, as far as it was awaited. */
    List<String> seen() {
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

    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
