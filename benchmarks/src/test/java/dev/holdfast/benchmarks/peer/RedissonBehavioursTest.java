package dev.holdfast.benchmarks.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * The behaviours of a lock that Redisson's own tests look at, on Redisson and on Holdfast, with one Redis: what is the same, and
 * the differences that docs/migrating.md names.
 */
class RedissonBehavioursTest {
    private static final Duration LONG = Duration.ofMinutes(10);
    private static RedisServer server;
    private static RedissonClient redisson;
    private static LockClient client;
    private static LockClient otherClient;

    private final String name = "behaviour/" + UUID.randomUUID();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    /** A library: the lock of a name, in this process and in another one. */
    record Library(String title, Function<String, Mutex> here, Function<String, Mutex> elsewhere) {
        @Override
        public String toString() {
            return title;
        }
    }

    private static Library redisson() {
        Function<String, Mutex> lock = name -> Mutex.of(redisson.getLock(name));
        return new Library("Redisson", lock, lock); // its locks belong to a thread; the tests use another one
    }

    private static Library holdfast() {
        return new Library("Holdfast", name -> Mutex.of(client, name), name -> Mutex.of(otherClient, name));
    }

    static Stream<Library> libraries() {
        return Stream.of(redisson(), holdfast());
    }

    @BeforeAll
    static void connect() throws IOException, InterruptedException {
        server = RedisServer.start();
        Config config = new Config();
        config.useSingleServer().setAddress(uri());
        redisson = Redisson.create(config);
        client = LockClient.connect(uri());
        otherClient = LockClient.connect(uri());
    }

    private static String uri() {
        return "redis://" + server.host() + ":" + server.port();
    }

    @AfterAll
    static void close() {
        client.close();
        otherClient.close();
        redisson.shutdown();
        server.close();
    }

    @AfterEach
    void endThreads() {
        threads.shutdownNow();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void lock_isReentrant_andTheLastUnlockFreesIt(Library library) throws Exception {
        Mutex mutex = library.here().apply(name);
        assertThat(mutex.lock().tryLock()).isTrue();
        assertThat(mutex.lock().tryLock()).isTrue();
        mutex.lock().unlock();
        assertThat(elsewhere(library, other -> other.lock().tryLock())).isFalse();

        mutex.lock().unlock();

        assertThat(elsewhere(library, other -> other.lock().tryLock())).isTrue();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void timedTry_ofABusyLock_waitsItsTimeAndReturnsFalse(Library library) throws Exception {
        library.here().apply(name).lock().lock();
        long start = System.nanoTime();

        assertThat(elsewhere(library, other -> other.lock().tryLock(3, TimeUnit.SECONDS)))
                .isFalse();
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(2_990));
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void unlock_ofAnotherThreadsLock_isRefused(Library library) throws Exception {
        Mutex mutex = library.here().apply(name);
        mutex.lock().lock();

        Future<?> other = threads.submit(() -> mutex.lock().unlock());

        assertThatThrownBy(() -> other.get(20, TimeUnit.SECONDS))
                .hasCauseInstanceOf(IllegalMonitorStateException.class);
        assertThat(mutex.isHeldByCurrentThread()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void questions_areAnsweredAlike(Library library) throws Exception {
        Mutex mutex = library.here().apply(name);
        assertThat(mutex.isLocked()).isFalse();
        mutex.lock().lock();
        assertThat(mutex.isHeldByCurrentThread()).isTrue();
        assertThat(elsewhere(library, Mutex::isHeldByCurrentThread)).isFalse();
        assertThat(elsewhere(library, Mutex::isLocked)).isTrue();

        mutex.lock().unlock();

        assertThat(mutex.isHeldByCurrentThread()).isFalse();
        assertThat(elsewhere(library, Mutex::isLocked)).isFalse();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void lockWithALeaseTime_endsByItself(Library library) throws Exception {
        library.here().apply(name).lockFor(Duration.ofSeconds(1));

        assertThat(elsewhere(library, other -> other.lock().tryLock(15, TimeUnit.SECONDS)))
                .isTrue();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void criticalSections_doNotOverlap(Library library) throws Exception {
        int[] count = {0};
        CountDownLatch done = new CountDownLatch(8);
        for (int thread = 0; thread < 8; thread++) {
            Mutex mutex = (thread % 2 == 0 ? library.here() : library.elsewhere()).apply(name);
            threads.submit(() -> {
                for (int i = 0; i < 10; i++) {
                    mutex.lock().lock();
                    count[0]++;
                    mutex.lock().unlock();
                }
                done.countDown();
            });
        }

        assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();
        assertThat(count[0]).isEqualTo(80);
    }

    @Test
    void unlockAfterTheLease_differs() throws Exception {
        Duration second = Duration.ofSeconds(1);
        Mutex theirs = redisson().here().apply(name + "/redisson");
        theirs.lockFor(second);
        Mutex ours = holdfast().here().apply(name);
        ours.lockFor(second);
        assertThat(elsewhere(holdfast(), other -> other.lock().tryLock(15, TimeUnit.SECONDS)))
                .isTrue();
        assertThat(threads.submit(() -> redisson.getLock(name + "/redisson").tryLock(15, TimeUnit.SECONDS))
                        .get(20, TimeUnit.SECONDS))
                .isTrue();

        assertThatThrownBy(() -> theirs.unlockAfter(second)).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(() -> ours.unlockAfter(second)).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(() -> ours.unlockAfter(second)).isInstanceOf(IllegalMonitorStateException.class);
    }

    /** The server pauses while Redisson asks, which checks for an interrupt only if it must wait for the answer. */
    @Test
    void lockOfAnInterruptedThread_differs() throws Exception {
        Future<Boolean> ours = threads.submit(() -> {
            Thread.currentThread().interrupt();
            client.lock(name).lock();
            return Thread.interrupted() && client.lock(name).isHeldByCurrentThread();
        });
        assertThat(ours.get(20, TimeUnit.SECONDS)).isTrue();
        server.process().pause();
        try {
            Future<?> theirs = threads.submit(() -> {
                Thread.currentThread().interrupt();
                redisson.getLock(name + "/redisson").lock();
            });
            assertThatThrownBy(() -> theirs.get(20, TimeUnit.SECONDS))
                    .hasRootCauseInstanceOf(InterruptedException.class);
        } finally {
            server.process().resume();
        }
    }

    @Test
    void remainingTime_isLessHere() {
        Mutex theirs = redisson().here().apply(name + "/redisson");
        theirs.lockFor(LONG);
        Mutex ours = holdfast().here().apply(name);
        ours.lockFor(LONG);

        assertThat(theirs.remaining(LONG)).isGreaterThan(LONG.multipliedBy(97).dividedBy(100));
        assertThat(ours.remaining(LONG))
                .isPositive()
                .isLessThanOrEqualTo(LONG.multipliedBy(97).dividedBy(100));
    }

    @Test
    void clientThatCloses_freesItsLocksHere_andNotThere() throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress(uri());
        RedissonClient theirs = Redisson.create(config);
        theirs.getLock(name + "/redisson").lock();
        theirs.shutdown();
        try (LockClient ours = LockClient.connect(uri())) {
            ours.lock(name).lock();
        }

        assertThat(redisson.getLock(name + "/redisson").isLocked()).isTrue();
        assertThat(client.holder(name)).isEmpty();
    }

    private interface Asking {
        boolean ask(Mutex mutex) throws Exception;
    }

    /** Asks on another thread, in what stands for another process. */
    private boolean elsewhere(Library library, Asking asking) throws InterruptedException, ExecutionException {
        Future<Boolean> answer =
                threads.submit(() -> asking.ask(library.elsewhere().apply(name)));
        try {
            return answer.get(30, TimeUnit.SECONDS);
        } catch (java.util.concurrent.TimeoutException e) {
            throw new AssertionError("no answer", e);
        }
    }
}
