package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.support.TestSize;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Several processes attempt one lock: no errors, no overlap, no token twice, and tokens in the order of the grants. The full
 * run is {@code -Dholdfast.jdbc.attempts=64000}.
 */
final class ContentionIT {
    private static final int PROCESSES = TestSize.of(4, 8);
    private static final boolean FULL = Integer.getInteger("holdfast.jdbc.attempts") != null;
    private static final int ATTEMPTS = Integer.getInteger("holdfast.jdbc.attempts", TestSize.of(400, 800));

    private record Hold(long token, long from, long to) {}

    /** The bounded run has each database and each strategy, the full run also every pair of them. */
    static Stream<Arguments> runs() {
        Stream<Arguments> bounded = Stream.of(
                Arguments.of("H2", JdbcStrategy.VERSION),
                Arguments.of("POSTGRESQL", JdbcStrategy.VERSION),
                Arguments.of("POSTGRESQL", JdbcStrategy.UNIQUE_INDEX),
                Arguments.of("POSTGRESQL", JdbcStrategy.ROW_LOCK),
                Arguments.of("MARIADB", JdbcStrategy.VERSION));
        Stream<Arguments> more = Stream.of(
                Arguments.of("H2", JdbcStrategy.UNIQUE_INDEX),
                Arguments.of("MARIADB", JdbcStrategy.UNIQUE_INDEX),
                Arguments.of("MYSQL_DRIVER", JdbcStrategy.VERSION),
                Arguments.of("MYSQL_DRIVER", JdbcStrategy.UNIQUE_INDEX),
                Arguments.of("MARIADB", JdbcStrategy.ROW_LOCK),
                Arguments.of("MYSQL_DRIVER", JdbcStrategy.ROW_LOCK));
        return FULL ? Stream.concat(bounded, more) : bounded;
    }

    @ParameterizedTest
    @MethodSource("runs")
    void processes_noErrorNoOverlapNoTokenTwice(String where, JdbcStrategy strategy) throws Exception {
        // On H2, this connection keeps the file's server here for as long as the children need it.
        try (Db db = start(where).call();
                Connection open = db.connect()) {
            assertThat(open.isValid(5)).isTrue();
            List<Hold> holds = new ArrayList<>();
            long busy = 0;
            for (List<String> lines : runProcesses(db, strategy)) {
                for (String line : lines) {
                    String[] words = line.split(" ");
                    if (words[0].equals("grant")) {
                        holds.add(
                                new Hold(Long.parseLong(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3])));
                    } else if (words[0].equals("end")) {
                        busy += Long.parseLong(words[1]);
                        assertThat(words[2]).as("errors").isEqualTo("0");
                    }
                }
            }
            assertThat(holds.size() + busy).as("answers").isEqualTo(ATTEMPTS / PROCESSES * PROCESSES);
            holds.sort(Comparator.comparingLong(Hold::from));
            for (int i = 1; i < holds.size(); i++) {
                assertThat(holds.get(i).from())
                        .as("no overlap")
                        .isGreaterThan(holds.get(i - 1).to());
                assertThat(holds.get(i).token())
                        .as("tokens rise")
                        .isGreaterThan(holds.get(i - 1).token());
            }
            assertThat(holds.size()).as("grants").isGreaterThan(PROCESSES);
            System.out.printf(
                    "contention: %-22s %-12s %d attempts by %d processes, %d grants, 0 errors, 0 overlaps, 0 tokens twice%n",
                    db.name, strategy, ATTEMPTS, PROCESSES, holds.size());
        }
    }

    private static Callable<Db> start(String where) {
        return switch (where) {
            case "H2" -> Db::h2Shared;
            case "POSTGRESQL" -> Db::postgres;
            case "MARIADB" -> () -> Db.mariadb("mariadb");
            default -> () -> Db.mariadb("mysql");
        };
    }

    private static List<List<String>> runProcesses(Db db, JdbcStrategy strategy) throws Exception {
        List<Process> processes = new ArrayList<>();
        List<Path> outputs = new ArrayList<>();
        try {
            for (int i = 0; i < PROCESSES; i++) {
                Path output = Files.createTempFile("holdfast-contention-", ".out");
                outputs.add(output);
                processes.add(new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java")
                                        .toString(),
                                "-Xmx128m",
                                "-XX:TieredStopAtLevel=1",
                                "-XX:+UseSerialGC",
                                "-XX:+UnlockDiagnosticVMOptions",
                                "-XX:-BytecodeVerificationRemote", // starts sooner
                                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                "-cp",
                                HoldingProcess.classPath(),
                                ContendingProcess.class.getName(),
                                db.url(),
                                db.user(),
                                db.password(),
                                strategy.name(),
                                Integer.toString(ATTEMPTS / PROCESSES))
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start());
            }
            List<List<String>> lines = new ArrayList<>();
            for (int i = 0; i < PROCESSES; i++) {
                boolean ended = processes.get(i).waitFor(30, TimeUnit.MINUTES);
                String text = Files.readString(outputs.get(i));
                assertThat(ended && processes.get(i).exitValue() == 0).as(text).isTrue();
                lines.add(text.lines().toList());
            }
            return lines;
        } finally {
            processes.forEach(Process::destroyForcibly);
            for (Path output : outputs) {
                Files.deleteIfExists(output);
            }
        }
    }
}
