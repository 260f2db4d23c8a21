package dev.holdfast.benchmarks.candidate;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * What docs/migrating.md says that users of the peers write now is real: its blocks marked {@code java peer}, and each call, type
 * and annotation in the left-hand columns of its tables, compile against the peers.
 */
class PeerCallsTest {
    private static final Path PAGE = Path.of("../docs/migrating.md");
    private static final Pattern SECTION = Pattern.compile("(?ms)^## From (\\w+)(.*?)(?=^## |\\z)");
    private static final Pattern BLOCK = Pattern.compile("(?ms)^```java peer\\R(.*?)^```");
    private static final Pattern ROW = Pattern.compile("(?m)^\\| ([^|]*`[^|]*) \\|");
    private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");

    /** What a cell's calls may be called on, and the names that stand for a user's own things: section by section. */
    private record Peer(List<String> receivers, String declarations) {}

    private static final Map<String, Peer> PEERS = Map.of(
            "Redisson",
            new Peer(
                    List.of("RedissonClient", "RFencedLock"),
                    "RedissonClient redisson; Config config; long time, leaseTime, threadId; TimeUnit unit; RLock lock;"),
            "Curator",
            new Peer(
                    List.of("InterProcessMutex"),
                    "CuratorFramework curator; InterProcessMutex mutex; RevocationListener<InterProcessMutex> listener;"),
            "Spring",
            new Peer(
                    List.of(
                            "Lock",
                            "RedisLockRegistry",
                            "DefaultLockRepository",
                            "org.springframework.integration.support.locks.DistributedLock"),
                    "RedisConnectionFactory connectionFactory; CuratorFramework curator; long age, expireAfter, time; TaskScheduler scheduler; int millis;"
                            + " LockRegistry<?> registry; TimeUnit unit;"),
            "ShedLock",
            new Peer(
                    List.of("SchedulerLock"),
                    "LockProvider lockProvider; Runnable task; LockConfiguration config; Duration atMost, atLeast;"),
            "jetcd",
            new Peer(
                    List.of("Client"),
                    "Client etcd; ByteSequence name, key; long leaseId; StreamObserver<LeaseKeepAliveResponse> observer;"));

    private static final String AROUND = """
            import io.etcd.jetcd.*;
            import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
            import io.etcd.jetcd.support.CloseableClient;
            import io.grpc.stub.StreamObserver;
            import java.time.*;
            import java.util.concurrent.TimeUnit;
            import java.util.concurrent.locks.Lock;
            import static java.util.concurrent.TimeUnit.SECONDS;
            import net.javacrumbs.shedlock.core.*;
            import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
            import org.apache.curator.framework.CuratorFramework;
            import org.apache.curator.framework.recipes.leader.LeaderLatch;
            import org.apache.curator.framework.recipes.locks.*;
            import org.apache.curator.framework.state.ConnectionStateListener;
            import org.redisson.Redisson;
            import org.redisson.api.*;
            import org.redisson.config.Config;
            import org.springframework.data.redis.connection.RedisConnectionFactory;
            import org.springframework.integration.jdbc.lock.*;
            import org.springframework.integration.redis.util.RedisLockRegistry;
            import org.springframework.integration.support.locks.*;
            import org.springframework.scheduling.TaskScheduler;
            import org.springframework.integration.zookeeper.lock.ZookeeperLockRegistry;

            @SuppressWarnings("all")
            abstract class %s {
                interface Repository { void save(Object what); }
                static Repository repository; static Object order; static Runnable work; static javax.sql.DataSource dataSource;
                static class Names { %s }
                static class Here extends Names {
                    %s
                }
            }
            """;

    @TestFactory
    Stream<DynamicTest> blocks_compile() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        Matcher sections = SECTION.matcher(Files.readString(PAGE));
        while (sections.find()) {
            String peer = sections.group(1);
            Matcher blocks = BLOCK.matcher(sections.group(2));
            assertThat(blocks.find()).as("a block of %s", peer).isTrue();
            String source = source(peer, "Block", "void run() throws Exception { " + blocks.group(1) + "}");
            tests.add(DynamicTest.dynamicTest(
                    peer,
                    () -> assertThat(failures(Map.of("Block", source)))
                            .as(source)
                            .isEmpty()));
        }
        assertThat(tests).hasSize(PEERS.size());
        return tests.stream();
    }

    /** All readings of all cells in one compilation; each cell needs one that compiles. */
    @Test
    void leftHandColumns_compile() throws IOException {
        Map<String, String> sources = new LinkedHashMap<>();
        Map<String, String> cells = new LinkedHashMap<>();
        Matcher sections = SECTION.matcher(Files.readString(PAGE));
        while (sections.find()) {
            String peer = sections.group(1);
            Matcher rows = ROW.matcher(sections.group(2));
            while (rows.find()) {
                Matcher quoted = QUOTED.matcher(rows.group(1));
                while (quoted.find()) {
                    for (String reading : readings(quoted.group(1), PEERS.get(peer))) {
                        String type = "Cell" + sources.size();
                        sources.put(type, source(peer, type, reading));
                        cells.put(type, peer + ": " + quoted.group(1));
                    }
                }
            }
        }
        assertThat(Set.copyOf(cells.values())).hasSizeGreaterThan(40);

        Set<String> failed = failures(sources).keySet();

        Set<String> wrong = new HashSet<>(cells.values());
        cells.forEach((type, cell) -> {
            if (!failed.contains(type)) {
                wrong.remove(cell);
            }
        });
        assertThat(wrong).as("of %s", new HashSet<>(cells.values())).isEmpty();
    }

    /** What a cell may mean, as members of a class: a type, an annotation, a call on one of the peer's things, a method's name. */
    private static List<String> readings(String cell, Peer peer) {
        if (cell.startsWith("@")) {
            return List.of(cell + " void run() {}");
        }
        if (cell.matches("[A-Z]\\w*")) {
            return List.of(cell + "<?> type;", cell + " type;");
        }
        if (cell.matches("\\w+ = .*")) {
            return List.of("@SchedulerLock(name = \"nightly\", " + cell + ") void run() {}");
        }
        List<String> readings = new ArrayList<>();
        String call = "void run() throws Exception { %s; }";
        readings.add(call.formatted(cell));
        readings.add(call.formatted(cell.replaceFirst("^([A-Z]\\w*)\\.", "(($1) null).")));
        peer.receivers().forEach(type -> readings.add(call.formatted("((" + type + ") null)." + cell)));
        return readings;
    }

    private static String source(String peer, String type, String members) {
        return AROUND.formatted(type, "static " + PEERS.get(peer).declarations().replace("; ", "; static "), members);
    }

    /** The sources that do not compile, with the first reason. */
    private static Map<String, String> failures(Map<String, String> sources) throws IOException {
        List<JavaFileObject> files = new ArrayList<>();
        sources.forEach((type, source) -> files.add(
                new SimpleJavaFileObject(URI.create("string:///" + type + ".java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return source;
                    }
                }));
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        List<String> options = List.of(
                "-proc:none",
                "-Xmaxerrs",
                "10000",
                "--should-stop=ifError=FLOW",
                "-d",
                Files.createTempDirectory(Files.createDirectories(Path.of("target")), "peers")
                        .toString(),
                "-cp",
                System.getProperty("java.class.path"));
        ToolProvider.getSystemJavaCompiler()
                .getTask(null, null, found, options, null, files)
                .call();
        Map<String, String> failures = new LinkedHashMap<>();
        for (Diagnostic<? extends JavaFileObject> diagnostic : found.getDiagnostics()) {
            if (diagnostic.getKind() == Diagnostic.Kind.ERROR) {
                JavaFileObject source = diagnostic.getSource();
                String type =
                        source == null ? "the compilation" : source.getName().replaceAll("^/|\\.java$", "");
                failures.putIfAbsent(type, diagnostic.getMessage(null));
            }
        }
        return failures;
    }
}
