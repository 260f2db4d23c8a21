package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A child process that holds a lock until it is killed: prints its token, and the loss if there is one. */
public final class HoldingProcess implements AutoCloseable {
    /** For processes that a busy machine makes slow. */
    static final LockClientOptions PATIENT = LockClientOptions.builder()
            .requestTimeout(Duration.ofSeconds(30))
            .lockOptions(LockOptions.builder().lease(Duration.ofMinutes(2)).build())
            .build();

    private final Process process;
    private final BufferedReader output;

    private HoldingProcess(Process process) {
        this.process = process;
        this.output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    static HoldingProcess start(String uri, String name, Duration lease) throws IOException {
        return new HoldingProcess(new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx128m",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-XX:+UnlockDiagnosticVMOptions",
                        "-XX:-BytecodeVerificationRemote", // starts sooner
                        "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                        "-cp",
                        classPath(),
                        HoldingProcess.class.getName(),
                        uri,
                        name,
                        lease.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
    }

    /** Everything on the class path, wherever this JVM has it: a child needs no modules. */
    public static String classPath() {
        List<String> parts = new ArrayList<>();
        for (String property : List.of("java.class.path", "jdk.module.path")) {
            parts.add(System.getProperty(property, ""));
        }
        parts.add(Path.of("target", "test-classes").toAbsolutePath().toString());
        parts.removeIf(String::isEmpty);
        return String.join(File.pathSeparator, parts);
    }

    /** Waits for its next line, such as {@code held 17}; fails if it has ended. */
    String line() throws IOException {
        String line = output.readLine();
        if (line == null) {
            throw new AssertionError("the child process ended early");
        }
        return line;
    }

    /** Waits for the line that says that it holds the lock; returns the token. */
    long awaitToken() throws IOException {
        return Long.parseLong(line().split(" ")[1]);
    }

    void freeze() throws Exception {
        signal("STOP");
    }

    void thaw() throws Exception {
        signal("CONT");
    }

    private void signal(String signal) throws Exception {
        int exit = new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid()))
                .inheritIO()
                .start()
                .waitFor();
        if (exit != 0) {
            throw new IOException("kill -" + signal + " failed");
        }
    }

    /** As {@code kill -9}. */
    /** Kills it; returns when it has ended. A large process takes a while to end, and only then are its connections closed. */
    long kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
        return System.nanoTime();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** A machine may be too busy to grant so short a lease in time. */
    private static Lease acquired(DistributedLock lock) throws InterruptedException {
        long startNanos = System.nanoTime();
        while (true) {
            try {
                return lock.acquire();
            } catch (LockUnavailableException e) {
                if (System.nanoTime() - startNanos > Duration.ofMinutes(2).toNanos()) {
                    throw e;
                }
            }
        }
    }

    /** Arguments: URL with strategy, name, lease. */
    public static void main(String[] args) throws Exception {
        LockOptions options =
                LockOptions.builder().lease(Duration.parse(args[2])).build();
        try (LockClient client = LockClient.connect(args[0], PATIENT)) {
            Lease lease = acquired(client.lock(args[1], options));
            System.out.println("held " + lease.token());
            LossReason reason = lease.lost().toCompletableFuture().get();
            System.out.println("lost " + lease.token() + " " + reason + " " + lease.isValid());
        }
    }
}
