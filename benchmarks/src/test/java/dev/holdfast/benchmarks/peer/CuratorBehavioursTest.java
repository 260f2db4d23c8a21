package dev.holdfast.benchmarks.peer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import dev.holdfast.lock.zookeeper.ZooKeeperLocks;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The behaviours of a mutex that Curator's own tests look at, on its InterProcessMutex and on Holdfast, with one ZooKeeper: what is
 * the same, and the difference that docs/migrating.md names.
 */
class CuratorBehavioursTest {
    private static final int SESSION_MILLIS = 4_000;
    private static ZooKeeperServer server;

    private final String base = "/behaviours-" + UUID.randomUUID();
    private final List<AutoCloseable> open = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    /** A library: its mutex on a framework, under a base path. */
    record Library(String title, BiFunction<CuratorFramework, String, InterProcessLock> mutex) {
        @Override
        public String toString() {
            return title;
        }
    }

    Library holdfast() {
        return new Library("Holdfast", (framework, path) -> {
            LockClient client = ZooKeeperLocks.builder(framework).basePath(path).build();
            open.add(client);
            return new HoldfastMutex(client, "a");
        });
    }

    static Stream<String> libraries() {
        return Stream.of("Curator", "Holdfast");
    }

    private Library library(String title) {
        return title.equals("Holdfast")
                ? holdfast()
                : new Library("Curator", (framework, path) -> new InterProcessMutex(framework, path + "/a"));
    }

    @BeforeAll
    static void startServer() throws IOException, InterruptedException {
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        server = ZooKeeperServer.builder(classPath)
                .tickMillis(500)
                .property("znode.container.checkIntervalMs", "100")
                .start();
    }

    @AfterAll
    static void closeServer() {
        server.close();
    }

    @AfterEach
    void close() throws Exception {
        threads.shutdownNow();
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
    }

    private CuratorFramework framework() {
        return framework("");
    }

    private CuratorFramework framework(String namespace) {
        CuratorFramework framework = CuratorFrameworkFactory.builder()
                .connectString(server.connectString())
                .namespace(namespace)
                .sessionTimeoutMs(SESSION_MILLIS)
                .retryPolicy(new RetryForever(200))
                .build();
        framework.start();
        open.add(framework);
        return framework;
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void mutex_isReentrant_andKnowsWhenItIsAcquired(String title) throws Exception {
        InterProcessLock mutex = library(title).mutex().apply(framework(), base);
        mutex.acquire();
        assertThat(mutex.acquire(10, TimeUnit.SECONDS)).isTrue();
        mutex.release();
        assertThat(mutex.isAcquiredInThisProcess()).isTrue();
        assertThat(threads.submit(() -> mutex.acquire(300, TimeUnit.MILLISECONDS))
                        .get(20, TimeUnit.SECONDS))
                .as("another thread")
                .isFalse();

        mutex.release();

        assertThat(mutex.isAcquiredInThisProcess()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void clients_excludeEachOther(String title) throws Exception {
        Library library = library(title);
        InterProcessLock first = library.mutex().apply(framework(), base);
        InterProcessLock second = library.mutex().apply(framework(), base);
        second.acquire(); // its session is made
        second.release();
        first.acquire();
        assertThat(second.acquire(3, TimeUnit.SECONDS)).isFalse();

        first.release();

        assertThat(second.acquire(10, TimeUnit.SECONDS)).isTrue();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void namespace_isRespected(String title) throws Exception {
        CuratorFramework framework = framework();
        InterProcessLock mutex = library(title).mutex().apply(framework("shop"), base);

        mutex.acquire();

        assertThat(framework.checkExists().forPath("/shop" + base)).isNotNull();
        assertThat(framework.checkExists().forPath(base)).isNull();
        mutex.release();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void waiter_getsTheLockWhenTheSessionOfTheHolderEnds(String title) throws Exception {
        Library library = library(title);
        CuratorFramework framework = framework();
        InterProcessLock held = library.mutex().apply(framework, base);
        InterProcessLock waiting = library.mutex().apply(framework(), base);
        threads.submit(() -> {
                    held.acquire();
                    return true;
                })
                .get(20, TimeUnit.SECONDS);
        Future<Boolean> granted = threads.submit(() -> waiting.acquire(30, TimeUnit.SECONDS));
        assertThat(granted).isNotDone();

        endSession(framework.getZookeeperClient().getZooKeeper());

        assertThat(granted.get(40, TimeUnit.SECONDS)).isTrue();
    }

    /** A second handle on the same session closes it. */
    private static void endSession(ZooKeeper handle) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper twin = new ZooKeeper(
                server.connectString(),
                SESSION_MILLIS,
                event -> connected.countDown(),
                handle.getSessionId(),
                handle.getSessionPasswd());
        assertThat(connected.await(20, TimeUnit.SECONDS)).isTrue();
        twin.close();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void waiter_survivesARestartOfTheServer(String title) throws Exception {
        Library library = library(title);
        InterProcessLock held = library.mutex().apply(framework(), base);
        InterProcessLock waiting = library.mutex().apply(framework(), base);
        held.acquire();
        Future<Boolean> granted = threads.submit(() -> {
            waiting.acquire();
            return waiting.isAcquiredInThisProcess();
        });

        server.restart();
        try {
            held.release();
        } catch (Exception e) {
            // the session may have ended meanwhile
        }

        assertThat(granted.get(60, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    @Timeout(60)
    void basePath_staysHere_andGoesThere() throws Exception {
        CuratorFramework framework = framework();
        for (String title : libraries().toList()) {
            InterProcessLock mutex = library(title).mutex().apply(framework, base + title);
            mutex.acquire();
            mutex.release();
        }

        while (framework.checkExists().forPath(base + "Curator") != null
                || framework.checkExists().forPath(base + "Holdfast/a") != null) {
            TimeUnit.MILLISECONDS.sleep(50);
        }
        assertThat(framework.checkExists().forPath(base + "Holdfast")).isNotNull();
    }
}
