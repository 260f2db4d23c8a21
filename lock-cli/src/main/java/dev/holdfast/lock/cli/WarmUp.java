package dev.holdfast.lock.cli;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.cli.process.GuardedProcess;
import dev.holdfast.lock.cli.process.Supervisor;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Loads the classes that a start needs, so that the launcher's JVM can archive them: a run on the store in memory, an
 * attempt to reach each of the others where nobody listens, and the classes that were seen in runs on real servers.
 */
final class WarmUp {
    private static final List<String> NOBODY = List.of(
            "redis://127.0.0.1:1",
            "zookeeper://127.0.0.1:1",
            "jdbc:postgresql://127.0.0.1:1/x?user=x&password=x",
            "jdbc:mariadb://127.0.0.1:1/x?user=x&password=x",
            "etcd://127.0.0.1:1");

    private WarmUp() {}

    /**
     * Warms up and ends this process.
     *
     * @param args not used
     */
    public static void main(String[] args) throws Exception {
        System.setProperty("java.util.logging.config.class", QuietLogging.class.getName());
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
        Holdfast.commandLine()
                .setOut(new PrintWriter(Writer.nullWriter()))
                .execute("holder", "--store", "memory:warm-up", "--json", "warm-up");
        run();
        for (String uri : NOBODY) {
            reach(uri);
        }
        loadListed();
        System.exit(0);
    }

    private static void run() throws Exception {
        try (LockClient client = LockClient.connect("memory:warm-up");
                Lease lease = client.lock("warm-up").acquire()) {
            GuardedProcess program = GuardedProcess.start(List.of("sh", "-c", ":"), Map.of());
            new Supervisor(Duration.ofSeconds(5), false, message -> {}).supervise(lease, program);
        }
    }

    private static void reach(String uri) {
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofMillis(500))
                .build();
        try (LockClient client = LockClient.connect(uri, options)) {
            client.holder("warm-up");
        } catch (LockException | IllegalArgumentException e) {
            // As expected: nobody listens there.
        }
    }

    private static void loadListed() throws IOException {
        InputStream list = WarmUp.class.getResourceAsStream("warm-up.txt");
        if (list == null) {
            return;
        }
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(list, StandardCharsets.UTF_8))) {
            for (String name = lines.readLine(); name != null; name = lines.readLine()) {
                try {
                    Class.forName(name, false, WarmUp.class.getClassLoader());
                } catch (ClassNotFoundException | LinkageError e) {
                    // A class of another version of that library: only the start gets slower.
                }
            }
        }
    }
}
