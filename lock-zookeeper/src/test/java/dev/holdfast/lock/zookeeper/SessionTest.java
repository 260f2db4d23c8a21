package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Since when a session is known to live. No server. */
class SessionTest {
    private static final long SLOW_MILLIS = 20;

    /** The servers may have heard of the session for the last time when the write came, and that may be long before its answer. */
    @ParameterizedTest
    @ValueSource(strings = {"create", "delete", "confirm"})
    void acknowledgedAge_countsFromTheSending(String write) throws Exception {
        UnsentZooKeeper zk = new UnsentZooKeeper();
        Session session = new Session(zk);
        zk.hold();
        switch (write) {
            case "create" ->
                Futures.ignore(session.create(
                        "/a", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL));
            case "delete" -> Futures.ignore(session.delete("/a"));
            default -> Futures.ignore(session.confirm(List.of("/a")));
        }
        long sentNanos = System.nanoTime();
        await().atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(1))
                .until(() -> System.nanoTime() - sentNanos > TimeUnit.MILLISECONDS.toNanos(SLOW_MILLIS));
        assertThat(session.acknowledgedAgeMillis()).as("without an answer").isEqualTo(Long.MAX_VALUE);

        zk.answerAll();

        assertThat(session.acknowledgedAgeMillis()).isBetween(SLOW_MILLIS, Long.MAX_VALUE - 1);
    }
}
