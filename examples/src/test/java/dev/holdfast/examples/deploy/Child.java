package dev.holdfast.examples.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A JVM of a test's own. */
final class Child {
    private static final long PATIENCE_SECONDS = 180;

    private Child() {}

    /** Runs a program of the tests with all backends on its class path, and returns its lines. */
    static List<String> run(Class<?> main, String... arguments) throws IOException, InterruptedException {
        List<Path> path = new ArrayList<>(ClassPaths.runtime());
        path.add(0, ClassPaths.tests());
        return run(List.of("-cp", ClassPaths.joined(path), main.getName()), List.of(arguments));
    }

    /** Runs java with those options and the main class among them; fails, with all that it wrote, if it fails. */
    static List<String> run(List<String> java, List<String> arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(
                "-Xmx128m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:-BytecodeVerificationRemote", // starts sooner
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"));
        command.addAll(java);
        command.addAll(arguments);
        Path errors = Files.createTempFile("child", ".log");
        Process child =
                new ProcessBuilder(command).redirectError(errors.toFile()).start();
        try (InputStream out = child.getInputStream()) {
            List<String> lines = new String(out.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
            assertThat(child.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            String said = Files.readString(errors);
            assertThat(child.exitValue()).as("%s%n%s", lines, said).isZero();
            System.out.println(String.join("\n", lines));
            return lines;
        } finally {
            child.destroyForcibly();
            Files.delete(errors);
        }
    }
}
