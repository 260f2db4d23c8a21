package dev.holdfast.lock.etcd;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What outlives a client, and how long closing it takes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public final class EtcdCloseTest {
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(2);
    private static final Duration CLOSE_LIMIT = REQUEST_TIMEOUT.plusMillis(600); // for a busy machine
    private static final int TRIES = 5;
    private static final AtomicInteger NAMES = new AtomicInteger();
    private EtcdFixture fixture;

    @BeforeAll
    void start() throws Exception {
        fixture = EtcdFixture.single();
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    private static String newName() {
        return "closed-" + NAMES.incrementAndGet();
    }

    private static LockClientOptions options(Duration minHold, Duration requestTimeout) {
        LockOptions.Builder options = LockOptions.builder().lease(Duration.ofSeconds(7));
        return LockClientOptions.builder()
                .lockOptions((minHold.isZero() ? options : options.minHold(minHold)).build())
                .requestTimeout(requestTimeout)
                .build();
    }

    @Test
    void close_withinMinHold_leavesTheLockToItsLease() throws Exception {
        String lingering = newName();
        String released = newName();
        try (LockClient other = LockClient.connect(fixture.uri(), options(Duration.ZERO, PATIENCE))) {
            LockClient own = LockClient.connect(fixture.uri(), options(Duration.ofSeconds(6), PATIENCE));
            own.lock(lingering).acquire().close();
            own.lock(
                            released,
                            LockOptions.builder().lease(Duration.ofSeconds(9)).build())
                    .acquire()
                    .close();

            own.close();

            assertThat(fixture.entries(lingering)).isEqualTo(1);
            assertThat(fixture.entries(released)).isZero();
            assertThat(other.lock(lingering).tryLock()).isFalse();
            try (Lease next = other.lock(lingering).acquire(PATIENCE)) {
                assertThat(next.isValid()).isTrue();
            }
        }
    }

    /** A container reports threads that outlive an application. gRPC's network threads end a second later. */
    @Test
    void close_returns_whenTheBackendsThreadsHaveEnded() throws Exception {
        String name = newName();
        try (LockClient other = LockClient.connect(fixture.uri(), options(Duration.ZERO, PATIENCE))) {
            other.lock(name).acquire();
            for (int i = 0; i < 10; i++) {
                LockClient client = LockClient.connect(fixture.uri(), options(Duration.ZERO, PATIENCE));
                client.lock(name).acquireAsync(PATIENCE);
                await().atMost(PATIENCE).until(() -> !backendThreads().isEmpty());

                client.close();

                assertThat(backendThreads())
                        .as("threads, but for the one that the other client has when it renews")
                        .hasSizeLessThanOrEqualTo(1);
            }
        }
    }

    private static Set<Thread> backendThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("holdfast-etcd"))
                .collect(Collectors.toSet());
    }

    /** The first time within the limit counts: a pause of the machine makes none shorter. */
    @Test
    void close_withAServerThatHangs_takesNoLongerThanARequest() throws Exception {
        for (boolean holds : new boolean[] {false, true}) {
            Duration took = closedWhileTheServerHangs(holds);
            for (int i = 1; i < TRIES && took.compareTo(CLOSE_LIMIT) >= 0; i++) {
                took = closedWhileTheServerHangs(holds);
            }
            assertThat(took).as("holds a lock: %s", holds).isLessThan(CLOSE_LIMIT);
        }
        await().atMost(PATIENCE)
                .until(() -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().equals("holdfast-etcd-close")));
    }

    private Duration closedWhileTheServerHangs(boolean holds) throws Exception {
        LockClient client = EtcdFixture.eventually(
                () -> LockClient.connect(fixture.uri(), options(Duration.ZERO, REQUEST_TIMEOUT)));
        Lease lease = client.lock(newName()).acquire();
        if (!holds) {
            lease.close();
        }
        fixture.pause();
        try {
            long startNanos = System.nanoTime();
            client.close();
            return Duration.ofNanos(System.nanoTime() - startNanos);
        } finally {
            fixture.resume();
        }
    }
}
