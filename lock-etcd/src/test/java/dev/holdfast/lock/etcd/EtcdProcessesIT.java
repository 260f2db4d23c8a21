package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Waiting and handing on between real processes. */
final class EtcdProcessesIT {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private Path folder;

    private final List<Process> processes = new ArrayList<>();
    private EtcdFixture fixture;

    @BeforeEach
    void start() throws Exception {
        fixture = EtcdFixture.single();
    }

    @AfterEach
    void stop() {
        processes.forEach(Process::destroyForcibly);
        fixture.close();
    }

    private Path startProcess(String role, String uri, String name, int count) throws IOException {
        Path output = folder.resolve("process-" + processes.size());
        processes.add(new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx64m",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                        "-cp",
                        System.getProperty("java.class.path"),
                        EtcdWaitingProcess.class.getName(),
                        role,
                        uri,
                        name,
                        String.valueOf(count))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .redirectOutput(output.toFile())
                .start());
        return output;
    }

    private long watches() throws IOException {
        return fixture.server().sum("etcd_debugging_mvcc_watcher_total", "");
    }

    private long calls(String method) throws IOException {
        return fixture.server().calls(method);
    }

    private static long lines(List<Path> outputs) throws IOException {
        long lines = 0;
        for (Path output : outputs) {
            lines += Files.readAllLines(output).size();
        }
        return lines;
    }

    @Test
    @DisplayName("200 threads of 8 processes wait with 8 keys and 8 watches, and a release wakes one")
    void release_with200WaitersIn8Processes_wakesOne() throws Exception {
        String name = "processes";
        List<Path> outputs = new ArrayList<>();
        try (LockClient holder = fixture.newClient(ClientOptions.defaults())) {
            Lease held = holder.lock(name).acquire();
            for (int i = 0; i < 8; i++) {
                outputs.add(startProcess("wait", fixture.uri(), name, 25));
            }
            await().atMost(PATIENCE)
                    .untilAsserted(
                            () -> assertThat(fixture.entries(name)).as("keys").isEqualTo(9));
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(watches()).as("watches").isEqualTo(8));
            long txns = calls("Txn");
            long reads = calls("Range");
            long events = fixture.server().sum("etcd_debugging_mvcc_events_total", "");

            held.close();
            await().atMost(PATIENCE).until(() -> lines(outputs) == 1);

            await().atMost(PATIENCE).until(() -> fixture.server().sum("etcd_debugging_mvcc_watcher_total", "") == 7);
            assertThat(fixture.server().sum("etcd_debugging_mvcc_events_total", "") - events)
                    .as("watch events")
                    .isEqualTo(1);
            assertThat(calls("Txn") - txns).as("release and confirmation").isEqualTo(2);
            assertThat(calls("Range") - reads).as("reads").isZero();
            assertThat(lines(outputs)).as("grants").isEqualTo(1);
            assertThat(fixture.entries(name)).isEqualTo(8);
        }
    }

    @Test
    @DisplayName("The lock passes between two processes in a few raw transactions")
    void relay_betweenTwoProcesses_isQuick() throws Exception {
        double transactionNanos;
        try (Client raw =
                Client.builder().endpoints(fixture.server().endpoints().get(0)).build()) {
            transactionNanos = rawTransactionNanos(raw);
        }
        String direct = "etcd://" + fixture.server().hostsAndPorts();
        List<Path> outputs =
                List.of(startProcess("relay", direct, "relay", 250), startProcess("relay", direct, "relay", 250));
        for (Process process : processes) {
            assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isZero();
        }
        double handOffNanos = medianHandOffNanos(outputs);
        System.out.printf(
                "between two processes: raw transaction %.0f µs, hand-off from before the release %.2f of it%n",
                transactionNanos / 1_000, handOffNanos / transactionNanos);
        assertThat(handOffNanos / transactionNanos).isLessThan(8);
    }

    private static double rawTransactionNanos(Client raw) throws Exception {
        List<Long> nanos = new ArrayList<>();
        for (int i = 0; i < 400; i++) {
            long start = System.nanoTime();
            raw.getKVClient()
                    .txn()
                    .Then(Op.put(EtcdKeys.bytes("raw"), EtcdKeys.bytes("x"), PutOption.DEFAULT))
                    .commit()
                    .get(10, TimeUnit.SECONDS);
            nanos.add(System.nanoTime() - start);
        }
        return median(nanos.subList(200, 400));
    }

    /** From just before one process released to just after the other had it; the monotonic clock is the machine's. */
    private static double medianHandOffNanos(List<Path> outputs) throws IOException {
        record Turn(int process, long gotNanos, long releasedNanos) {}
        List<Turn> turns = new ArrayList<>();
        for (int process = 0; process < outputs.size(); process++) {
            for (String line : Files.readAllLines(outputs.get(process))) {
                String[] times = line.split(" ");
                turns.add(new Turn(process, Long.parseLong(times[0]), Long.parseLong(times[1])));
            }
        }
        turns.sort(Comparator.comparingLong(Turn::gotNanos));
        List<Long> handOffs = new ArrayList<>();
        for (int i = 1; i < turns.size(); i++) {
            assertThat(turns.get(i).gotNanos()).isGreaterThan(turns.get(i - 1).releasedNanos());
            if (turns.get(i).process() != turns.get(i - 1).process()) {
                handOffs.add(turns.get(i).gotNanos() - turns.get(i - 1).releasedNanos());
            }
        }
        assertThat(handOffs).as("hand-offs between the processes").hasSizeGreaterThan(200);
        return median(handOffs.subList(100, handOffs.size()));
    }

    private static double median(List<Long> values) {
        return values.stream().sorted().toList().get(values.size() / 2);
    }
}
