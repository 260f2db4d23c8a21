package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.support.ChildJvm;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Lettuce before 6.4 has no sharded channels: waiters are called on plain ones. Before 6.2, waiters poll, which is reported. */
final class RedisOlderClientTest {

    @Test
    void waiter_onACluster_withAClientWithoutShardedChannels_isCalledOnAPlainOne() throws Exception {
        try (RedisClusterFixture fixture = new RedisClusterFixture();
                ChildJvm child = ChildJvm.start(classPath("6.3.2"), OlderClientProgram.class, fixture.uri())) {
            assertThat(child.await("sharded ")).isEqualTo("false");
            child.await("waiting");
            await().atMost(Duration.ofSeconds(60)).until(() -> channels(fixture, "CHANNELS") > 0);
            assertThat(channels(fixture, "SHARDCHANNELS")).isZero();
            child.send("");
            child.await("handed over");
            assertThat(child.seen()).noneMatch(line -> line.contains("WARN") || line.contains("Error"));
        }
    }

    @Test
    void waiter_withAClientThatIsTooOldForNotifications_pollsAndSaysSoOnce() throws Exception {
        try (RedisServer server = RedisServer.start();
                ChildJvm child = ChildJvm.start(
                        classPath("6.1.10"),
                        OlderClientProgram.class,
                        "redis://" + server.host() + ":" + server.port())) {
            child.await("waiting");
            child.awaitSaid("WARN");
            child.send("");
            child.await("handed over");
            assertThat(child.seen().stream().filter(line -> line.contains("WARN")))
                    .singleElement()
                    .asString()
                    .contains("io.lettuce 7", "6.1.10.RELEASE was found", "until then waiters only poll");
            assertThat(child.seen()).noneMatch(line -> line.startsWith("Exception in thread"));
        }
    }

    private static long channels(RedisClusterFixture fixture, String kind) throws IOException {
        long count = 0;
        for (RedisServer node : fixture.cluster().nodes()) {
            count += node.list("PUBSUB", kind, "holdfast:*").size()
                    + node.list("PUBSUB", kind, "{holdfast:*").size();
        }
        return count;
    }

    /** This class path with the older Lettuce in the place of ours. */
    private static String classPath(String version) throws IOException {
        String own = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        try (Stream<Path> older = Files.list(Path.of("target/older-lettuce").toAbsolutePath())) {
            List<String> jars = older.map(Path::toString)
                    .filter(jar -> jar.contains("-" + version + "."))
                    .toList();
            assertThat(jars).hasSize(1);
            return Stream.concat(
                            jars.stream(),
                            Stream.of(own.split(File.pathSeparator)).filter(jar -> !jar.contains("lettuce-core")))
                    .collect(Collectors.joining(File.pathSeparator));
        }
    }
}
