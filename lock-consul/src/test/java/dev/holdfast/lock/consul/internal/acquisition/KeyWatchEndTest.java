package dev.holdfast.lock.consul.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.consul.ConsulFixture;
import dev.holdfast.lock.consul.ScriptedConsul;
import dev.holdfast.lock.consul.internal.http.ConsulConnection;
import dev.holdfast.lock.consul.internal.http.ConsulHttp;
import dev.holdfast.lock.consul.internal.http.FakeAgent;
import dev.holdfast.lock.consul.internal.http.FaultyHttpClient;
import dev.holdfast.lock.consul.internal.http.RequestGate;
import dev.holdfast.lock.consul.internal.session.SessionPool;
import dev.holdfast.lock.spi.Subscription;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Nothing is left of a watch when its last waiter has left: no query, no blocking permit, no callback. */
final class KeyWatchEndTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final AtomicInteger ends = new AtomicInteger();
    private final RequestGate blocking = new RequestGate(1);

    private KeyWatch watch(FakeAgent agent) {
        return watch(agent.connection());
    }

    private KeyWatch watch(ConsulConnection connection) {
        ConsulHttp http = new ConsulHttp(connection);
        KeyLooks looks = new KeyLooks(new SessionPool(http, ConsulFixture.KEYS, null));
        return new KeyWatch("test/a", http, looks, blocking, ends::incrementAndGet);
    }

    private static void until(Callable<Boolean> condition) {
        await().atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(condition);
    }

    @Test
    void lastWaiter_thatGoes_endsTheQuery_andGivesItsPlaceBack() throws Exception {
        try (FakeAgent agent = new FakeAgent((path, body) -> path.contains("?") ? "stall" : "200 x")) {
            KeyWatch watch = watch(agent);
            Subscription one = watch.add(() -> {});
            Subscription two = watch.add(() -> {});
            until(() -> agent.requests() == 2);
            assertThat(blocking.tryEnter()).as("a free permit while it blocks").isFalse();
            one.close();
            assertThat(watch.hasEnded()).isFalse();
            assertThat(ends).hasValue(0);

            two.close();
            two.close();
            assertThat(watch.hasEnded()).isTrue();
            assertThat(ends).hasValue(1);
            assertThat(watch.add(() -> {})).isNull();
            until(() -> agent.goneClients() == 1 && blocking.tryEnter());
            assertThat(agent.heads())
                    .as("what was asked")
                    .element(1)
                    .asString()
                    .startsWith("GET /v1/kv/test/a?index=1&wait=60s ");
            long startNanos = System.nanoTime();
            while (System.nanoTime() - startNanos
                    < TimeUnit.MILLISECONDS.toNanos(150)) { // more than its shortest pause
                LockSupport.parkNanos(1_000_000);
            }
            assertThat(agent.requests()).isEqualTo(2);
        }
    }

    /** If no blocking permit is free, the key is read without blocking. */
    @Test
    void beyondTheBound_itIsAskedWithoutBlocking() throws Exception {
        assertThat(blocking.tryEnter()).isTrue();
        String exists = ScriptedConsul.refused(0, "key \"test/a\" exists");
        try (FakeAgent agent = new FakeAgent((path, body) -> exists)) {
            Subscription only = watch(agent).add(() -> {});
            until(() -> agent.requests() >= 2);
            assertThat(agent.heads()).allSatisfy(head -> assertThat(head).startsWith("PUT /v1/txn?consistent HTTP"));
            only.close();
        }
        blocking.leave();
        assertThat(blocking.tryEnter()).isTrue();
        assertThat(blocking.tryEnter()).as("more permits than before").isFalse();
    }

    static List<Throwable> faults() {
        return List.of(new IllegalStateException("a waiter's own fault"), new InternalError("by the test"));
    }

    /** Also an Error, as without memory, and one of the handler: the query goes on for the others. */
    @ParameterizedTest
    @MethodSource("faults")
    void faultOfAWaiter_isReported(Throwable fault) throws Exception {
        List<Throwable> reported = new CopyOnWriteArrayList<>();
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        CountDownLatch told = new CountDownLatch(1);
        CountDownLatch called = new CountDownLatch(1);
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
            reported.add(failure);
            told.countDown();
            throw new IllegalStateException("the handler's own fault");
        });
        try (FakeAgent agent = new FakeAgent((path, body) -> "404 ")) {
            KeyWatch watch = watch(agent);
            Subscription one = watch.add(() -> {
                if (fault instanceof Error error) {
                    throw error;
                }
                throw (RuntimeException) fault;
            });
            Subscription two = watch.add(called::countDown);
            assertThat(told.await(1, TimeUnit.MINUTES)).isTrue();
            assertThat(called.await(1, TimeUnit.MINUTES)).isTrue();
            assertThat(reported).isNotEmpty().containsOnly(fault);
            one.close();
            two.close();
            until(blocking::tryEnter);
        } finally {
            Thread.setDefaultUncaughtExceptionHandler(before);
        }
    }

    /** Without memory for the query, it is repeated after a pause, and does not keep its place meanwhile. */
    @Test
    void queryThatEndsWithAnError_isRepeated_andGivesItsPlaceBack() throws Exception {
        AtomicInteger reads = new AtomicInteger();
        AtomicReference<FaultyHttpClient> client = new AtomicReference<>();
        try (FakeAgent agent = new FakeAgent((path, body) -> {
            if (path.contains("?")) {
                return "404@8 ";
            }
            client.get().failing.set(reads.incrementAndGet() == 1 ? 1 : 0);
            return "200@7 x";
        })) {
            ConsulConnection connection = FaultyHttpClient.connection(agent);
            client.set((FaultyHttpClient) connection.client());
            CountDownLatch called = new CountDownLatch(1);
            Subscription only = watch(connection).add(called::countDown);

            assertThat(called.await(1, TimeUnit.MINUTES)).isTrue();

            assertThat(reads).hasValueGreaterThan(1);
            only.close();
            until(blocking::tryEnter);
            assertThat(blocking.tryEnter()).as("more permits than before").isFalse();
        }
    }
}
