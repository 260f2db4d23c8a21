package dev.holdfast.lock.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/** The command in a process of its own, with its output in files. Closing it kills it and its descendants. */
final class CliRun implements AutoCloseable {
    private static final int PATIENCE_SECONDS = 60;

    private final Process process;
    private final Path out;
    private final Path err;

    private CliRun(Process process, Path out, Path err) {
        this.process = process;
        this.out = out;
        this.err = err;
    }

    static CliRun start(String store, String... args) throws IOException {
        return start(store, java(args));
    }

    /** The command line. */
    static List<String> java(String... args) {
        List<String> command = new ArrayList<>(jvm());
        command.addAll(CliClasses.options());
        command.add(Holdfast.class.getName());
        command.addAll(List.of(args));
        return command;
    }

    static List<String> jvm() {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:-BytecodeVerificationRemote", // starts sooner
                "-Xmx128m",
                "-Dio.lettuce.core.jfr=false");
    }

    /**
     * Starts the command with a long time-out, for a first connection to a server that has just been started, on a busy
     * machine.
     */
    static CliRun patient(String store, String... args) throws IOException {
        List<String> patient = new ArrayList<>(List.of(args));
        patient.addAll(1, List.of("--timeout", "20s"));
        return start(store, patient.toArray(String[]::new));
    }

    static CliRun start(String store, List<String> command) throws IOException {
        Path out = Files.createTempFile("holdfast-out", ".txt");
        Path err = Files.createTempFile("holdfast-err", ".txt");
        // A background build ignores signals, and its children would inherit that.
        List<String> heeding = new ArrayList<>(List.of("env", "--default-signal=HUP,INT,QUIT,TERM"));
        heeding.addAll(command);
        ProcessBuilder builder =
                new ProcessBuilder(heeding).redirectOutput(out.toFile()).redirectError(err.toFile());
        builder.environment().put(StoreOptions.VARIABLE, store);
        return new CliRun(builder.start(), out, err);
    }

    long pid() {
        return process.pid();
    }

    Process process() {
        return process;
    }

    /** Writes to its standard input, and ends that. */
    void type(String text) throws IOException {
        try (OutputStream in = process.getOutputStream()) {
            in.write(text.getBytes(StandardCharsets.UTF_8));
        }
    }

    void signal(String name) throws IOException, InterruptedException {
        signal(name, pid());
    }

    /** Sends a signal to one process: some versions of kill take a negative number for all processes. */
    static void signal(String name, long pid) throws IOException, InterruptedException {
        if (pid <= 1) {
            throw new IllegalArgumentException("no signals to " + pid);
        }
        Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start();
        if (kill.waitFor() != 0) {
            throw new IOException("no process " + pid + " for a signal");
        }
    }

    /** Waits for its end and returns the exit status. */
    int status() throws InterruptedException {
        if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError("still running after " + PATIENCE_SECONDS + " s; it said: " + out() + err());
        }
        return process.exitValue();
    }

    String out() {
        return read(out);
    }

    String err() {
        return read(err);
    }

    /** Waits until it has printed that line, and returns all that it has printed. */
    String awaitOut(String text) {
        await("printed " + text, () -> out().contains(text));
        return out();
    }

    void await(String what, java.util.concurrent.Callable<Boolean> condition) {
        Awaitility.await(what + "; it said: " + out() + err())
                .atMost(Duration.ofSeconds(PATIENCE_SECONDS))
                .pollInterval(Duration.ofMillis(20))
                .until(condition);
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new AssertionError("cannot read what the command said", e);
        }
    }

    @Override
    public void close() throws IOException {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        Files.deleteIfExists(out);
        Files.deleteIfExists(err);
    }
}
