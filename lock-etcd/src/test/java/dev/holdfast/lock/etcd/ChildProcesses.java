package dev.holdfast.lock.etcd;

import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.etcd.internal.client.EtcdChild;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.awaitility.core.ConditionTimeoutException;

/**
 * JVMs of their own for one test, mostly running {@link EtcdChild}. While they are waited for, one that has ended fails the
 * test at once with what it said. They end with the test, and with this JVM, whose end closes their standard input.
 */
public final class ChildProcesses implements AutoCloseable {
    /** For JVMs to start and get to work: eight at once took more than a minute on two busy cores. */
    static final Duration PATIENCE = Duration.ofMinutes(6);

    private final Path folder;
    private final List<Child> children = new ArrayList<>();

    ChildProcesses(Path folder) {
        this.folder = folder;
    }

    /** One of them, and what it has written so far. */
    record Child(Process process, Path output, Path errors) {

        /** The complete lines of its standard output. */
        List<String> lines() throws IOException {
            String text = Files.readString(output);
            return text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
        }

        /** Writes a line to its standard input. */
        void tell(String line) throws IOException {
            process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        }

        String report() {
            try {
                String state = process.isAlive() ? "running" : "ended with status " + process.exitValue();
                List<String> lines = lines();
                String text = Files.readString(errors);
                return "process " + process.pid() + " " + state + ", " + lines.size() + " lines of output "
                        + lines.subList(Math.max(0, lines.size() - 3), lines.size()) + ", errors:\n"
                        + text.substring(Math.max(0, text.length() - 4_000));
            } catch (IOException e) {
                return "process " + process.pid() + ": " + e;
            }
        }
    }

    Child start(String... arguments) throws IOException {
        return start(List.of(), EtcdChild.class, arguments);
    }

    Child start(List<String> options, Class<?> main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:+UseSerialGC",
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:-BytecodeVerificationRemote", // starts sooner
                "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(options);
        command.add(main.getName());
        command.addAll(List.of(arguments));
        Path output = folder.resolve("child-" + children.size() + ".out");
        Path errors = folder.resolve("child-" + children.size() + ".err");
        Process process = new ProcessBuilder(command)
                .redirectOutput(output.toFile())
                .redirectError(errors.toFile())
                .start();
        Child child = new Child(process, output, errors);
        children.add(child);
        return child;
    }

    /** How many lines all of them have written. */
    long lines() throws IOException {
        long lines = 0;
        for (Child child : children) {
            lines += child.lines().size();
        }
        return lines;
    }

    /** Waits for a condition, which may throw an AssertionError to say that it cannot come true any more. */
    void awaitUntil(String what, Callable<Boolean> condition) {
        try {
            await(what).atMost(PATIENCE).pollInterval(Duration.ofMillis(20)).until(() -> {
                // Those that have ended are looked for first: what one has written until then may make it true.
                List<Child> ended = children.stream()
                        .filter(child -> !child.process().isAlive())
                        .toList();
                boolean failed =
                        ended.stream().anyMatch(child -> child.process().exitValue() != 0);
                if (!failed && condition.call()) {
                    return true;
                }
                if (!ended.isEmpty()) {
                    throw new AssertionError(
                            "waiting for " + what + ": " + ended.get(0).report());
                }
                return false;
            });
        } catch (ConditionTimeoutException e) {
            StringBuilder text = new StringBuilder("waited " + PATIENCE + " without success for " + what);
            children.forEach(child -> text.append('\n').append(child.report()));
            throw new AssertionError(text.toString(), e);
        }
    }

    @Override
    public void close() {
        children.forEach(child -> child.process().destroyForcibly());
    }
}
