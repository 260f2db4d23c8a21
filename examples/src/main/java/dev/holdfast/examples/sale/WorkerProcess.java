package dev.holdfast.examples.sale;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/** A {@link Worker} in a JVM of its own, as the program that started it sees it. Thread-safe. */
final class WorkerProcess implements AutoCloseable {

    private static final long FAREWELL_SECONDS = 10;

    private final Process process;
    private final PrintWriter orders;
    private final Thread reader;

    private WorkerProcess(Process process, BiConsumer<WorkerProcess, String> says) {
        this.process = process;
        this.orders = new PrintWriter(new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8), true);
        this.reader = new Thread(() -> read(says), "worker-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    static WorkerProcess start(SaleConfig config, Path log, BiConsumer<WorkerProcess, String> says) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx128m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp",
                System.getProperty("java.class.path"),
                Worker.class.getName());
        config.writeTo(builder.environment());
        builder.redirectError(ProcessBuilder.Redirect.appendTo(new File(log.toString())));
        return new WorkerProcess(builder.start(), says);
    }

    long pid() {
        return process.pid();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    void tell(String order) {
        orders.println(order);
    }

    /** SIGKILL: no shutdown hook, no release, no farewell. */
    void kill() {
        process.destroyForcibly();
    }

    /** Waits until the process has ended and everything that it said was heard. */
    void awaitEnd(long seconds) throws InterruptedException {
        process.waitFor(seconds, TimeUnit.SECONDS);
        reader.join(TimeUnit.SECONDS.toMillis(FAREWELL_SECONDS));
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    private void read(BiConsumer<WorkerProcess, String> says) {
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
