package dev.holdfast.lock.testkit.support;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.logging.ConsoleHandler;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Everything that a JVM of its own says while it connects to addresses, takes a lock and closes: all loggers at their finest
 * level (those of the store's client too), exceptions with their causes, {@code toString} and the names of threads. Needs
 * slf4j-simple on the class path.
 */
public final class ConnectionTranscript {
    private static final String END = "connection transcript complete";
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    private ConnectionTranscript() {}

    /**
     * Connects to the addresses, one after the other.
     *
     * @param folder for what it says
     * @param addresses given by standard input, never on a command line
     * @param levels loggers that stay at another level, because they write down what is sent: {@code logger=level}
     * @return what it said on both outputs
     * @throws IOException if no JVM can be started
     * @throws InterruptedException if interrupted
     * @throws IllegalStateException if it did not come to its end
     */
    public static String of(Path folder, List<String> addresses, String... levels)
            throws IOException, InterruptedException {
        Path output = folder.resolve("transcript.txt");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx96m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.logFile=System.out",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=trace",
                "-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper=trace",
                "-Dorg.slf4j.simpleLogger.log.org.apache.curator=trace"));
        for (String level : levels) {
            command.add("-Dorg.slf4j.simpleLogger.log." + level);
        }
        command.addAll(List.of(
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                ConnectionTranscript.class.getName()));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try (PrintStream in = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8)) {
            addresses.forEach(in::println);
        }
        try {
            if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                throw new IllegalStateException("the JVM did not end within " + PATIENCE);
            }
        } finally {
            process.destroyForcibly();
        }
        String said = Files.readString(output);
        if (!said.contains(END)) {
            throw new IllegalStateException("the JVM ended early: " + said);
        }
        return said;
    }

    /**
     * The JVM of its own.
     *
     * @param args none
     * @throws IOException if standard input cannot be read
     */
    public static void main(String[] args) throws IOException {
        ConsoleHandler handler = new ConsoleHandler();
        handler.setLevel(Level.ALL);
        Logger root = Logger.getLogger("");
        root.setLevel(Level.ALL);
        root.addHandler(handler);
        List<String> addresses = new ArrayList<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            addresses.add(line);
        }
        for (String address : addresses) {
            connect(address, System.out);
        }
        System.out.println(END);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void connect(String address, PrintStream out) {
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(20))
                .build();
        try (LockClient client = LockClient.connect(address, options)) {
            out.println("client " + client + " " + client.lock("transcript").tryAcquire());
            Thread.getAllStackTraces().keySet().forEach(thread -> out.println("thread " + thread.getName()));
        } catch (Exception e) {
            e.printStackTrace(out);
        }
    }
}
