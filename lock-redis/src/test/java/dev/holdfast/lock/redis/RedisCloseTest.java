package dev.holdfast.lock.redis;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.RedeployedApplication;
import dev.holdfast.lock.testkit.server.RedisServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What closing says, and how long it takes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisCloseTest {
    private static final Duration REQUEST = Duration.ofSeconds(2);
    private static final int TRIES = 5;
    private static final String LETTUCE = "Connection is already closed";

    private RedisServer server;

    @BeforeAll
    void start() throws Exception {
        server = RedisServer.start();
    }

    @AfterAll
    void stop() {
        server.close();
    }

    @Test
    void afterTheApplicationsClient_saysOneLineAndReturnsAtOnce() throws Exception {
        assertTakesLessThan(REQUEST.dividedBy(2), this::closedAfterTheApplicationsClient);
    }

    private Duration closedAfterTheApplicationsClient() throws Exception {
        RedisClient client = RedisClient.create(uri());
        LockClient locks = RedisLocks.builder(client).options(patient()).build();
        List<Lease> held = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            held.add(locks.lock("early" + System.nanoTime()).acquire());
        }
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        long start = System.nanoTime();
        String said = said(locks::close);
        Duration took = Duration.ofNanos(System.nanoTime() - start);
        assertThat(said.lines().filter(line -> line.contains("dev.holdfast")))
                .singleElement()
                .asString()
                .contains(
                        "its connection was closed before it, so 5 locks could not be released",
                        "close the lock client first");
        assertThat(held).noneMatch(Lease::isValid);
        return took;
    }

    /** The first time that is within the limit counts: a machine that pauses makes none shorter. */
    private static void assertTakesLessThan(Duration limit, Callable<Duration> closing) throws Exception {
        Duration took = closing.call();
        for (int i = 1; i < TRIES && took.compareTo(limit) >= 0; i++) {
            took = closing.call();
        }
        assertThat(took).isLessThan(limit);
    }

    @Test
    void afterTheApplicationsConnection_isToldAsThat() throws Exception {
        try (RedisClient client = RedisClient.create(uri())) {
            StatefulRedisConnection<String, String> connection = client.connect();
            try (LockBackend backend = RedisLocks.builder(connection).backend()) {
                release(backend, Attempts.grant(backend, BackendDriver.newAcquisition("early")));
                connection.close();
                assertThatThrownBy(() -> Attempts.grant(backend, BackendDriver.newAcquisition("late")))
                        .isInstanceOf(LockClosedException.class)
                        .hasMessageContaining("close the lock client first");
            }
        }
    }

    @Test
    void beforeTheApplicationsClient_isSilent() throws Exception {
        RedisClient client = RedisClient.create(uri());
        LockClient locks = RedisLocks.builder(client).options(patient()).build();
        CompletableFuture<Lease> waiting;
        try (Lease held = locks.lock("silent").acquire()) {
            waiting = subscribe(locks, "silent");
            assertThat(held.isValid()).isTrue();
        }
        waiting.get(1, TimeUnit.MINUTES).close();
        String said = said(() -> {
            locks.close();
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        });
        assertThat(said).doesNotContain(LETTUCE).doesNotContain("dev.holdfast");
    }

    private CompletableFuture<Lease> subscribe(LockClient locks, String name) throws Exception {
        CompletableFuture<Lease> waiting;
        try (LockClient other = LockClient.connect(uri(), patient());
                Lease held = other.lock(name + "2").acquire()) {
            waiting = locks.lock(name + "2").acquireAsync(Duration.ofMinutes(1)).toCompletableFuture();
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> server.list("PUBSUB", "CHANNELS").size() == 1);
            assertThat(held.isValid()).isTrue();
        }
        return waiting;
    }

    @Test
    void cluster_isSilent() throws Exception {
        try (RedisClusterFixture cluster = new RedisClusterFixture()) {
            LockClient locks = LockClient.connect(cluster.uri(), patient());
            for (int i = 0; i < 20; i++) {
                locks.lock("name" + i).acquire().close();
            }
            String said = said(() -> {
                locks.close();
                // Lettuce closes behind us.
                Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> cluster.clients() == 0);
            });
            assertThat(said).doesNotContain(LETTUCE).doesNotContain("dev.holdfast");
        }
    }

    @Test
    void threadsOfTheClient_haveEndedWhenCloseReturns() throws Exception {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        LockClient locks = LockClient.connect(uri(), patient());
        try (Lease held = locks.lock("threads").acquire()) {
            CompletableFuture<Lease> waiting = subscribe(locks, "threads");
            assertThat(held.isValid()).isTrue();
            waiting.get(1, TimeUnit.MINUTES).close();
        }
        Set<Thread> own = lettuce(before);
        assertThat(own).isNotEmpty();

        locks.close();

        assertThat(own).noneMatch(Thread::isAlive);
        assertThat(lettuce(before)).isEmpty();
    }

    private static Set<Thread> lettuce(Set<Thread> before) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> !before.contains(thread) && thread.getName().startsWith("lettuce-"))
                .collect(Collectors.toSet());
    }

    /** Netty shares one thread with everybody who uses it in the application, and ends it after a second. */
    @Test
    @House("process:redeployment")
    void applicationIsTakenDown_itsLoaderIsCollected() throws Exception {
        RedeployedApplication.assertLeavesNothing(uri(), "globalEventExecutor");
    }

    @Test
    void hungServer_isLeftWithinTheRequestTimeOut() throws Exception {
        assertTakesLessThan(REQUEST.plusMillis(500), this::closedWhileTheServerHangs);
    }

    private Duration closedWhileTheServerHangs() throws Exception {
        LockClient locks = LockClient.connect(uri(), options());
        locks.lock("hung" + System.nanoTime()).acquire();
        server.process().pause();
        try {
            long start = System.nanoTime();
            locks.close();
            return Duration.ofNanos(System.nanoTime() - start);
        } finally {
            server.process().resume();
        }
    }

    private static LockClientOptions patient() {
        return LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(20))
                .build();
    }

    private static LockClientOptions options() {
        return LockClientOptions.builder().requestTimeout(REQUEST).build();
    }

    private String uri() {
        return "redis://" + server.host() + ":" + server.port();
    }

    private interface Step {
        void run() throws Exception;
    }

    /** All loggers print to the error output. */
    private static String said(Step step) throws Exception {
        PrintStream before = System.err;
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
        try {
            step.run();
            BackgroundLog.flush(20_000);
        } finally {
            System.setErr(before);
        }
        return said.toString(StandardCharsets.UTF_8);
    }
}
