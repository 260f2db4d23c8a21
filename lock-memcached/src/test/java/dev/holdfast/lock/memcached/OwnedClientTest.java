package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.spotify.folsom.GetResult;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.internal.ThreadExecutorMap;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** How our own client connects, waits and closes, with a server whose answers a test controls. */
final class OwnedClientTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    /** The request that checks whether the server answers. */
    private static final String GREETING = "get folsom";

    private final Set<Thread> before = threads();

    private static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("holdfast-memcached"))
                .collect(Collectors.toSet());
    }

    private Set<Thread> started() {
        Set<Thread> since = threads();
        since.removeAll(before);
        return since;
    }

    private static void until(Callable<Boolean> condition) {
        await().atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(condition);
    }

    private static OwnedClient connect(FakeMemcached server, Duration timeout) {
        return OwnedClient.connect(MemcachedUri.parse(server.uri()), timeout);
    }

    /** By a short time-out, if the connection is there within it: the machine may pause. */
    private static OwnedClient connectHastily(FakeMemcached server) {
        long millis = 300;
        while (true) {
            try {
                return connect(server, Duration.ofMillis(millis));
            } catch (LockUnavailableException e) {
                millis *= 4;
                if (millis > 5_000) {
                    throw e;
                }
            }
        }
    }

    /** One connection, whose order is that of the requests; one daemon, on which answers come; nothing is sent twice. */
    @Test
    void client_hasOneConnection_andOneThread_andTakesManyRequests() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        try (FakeMemcached server = new FakeMemcached(line -> {
            if (line.startsWith(GREETING)) {
                return "END";
            }
            asked.await();
            return line.contains(" last") ? "END" : "";
        })) {
            OwnedClient owned = connect(server, Duration.ofMinutes(5));
            assertThat(owned.client().getRawMemcacheClient().getClass().getSimpleName())
                    .as("without one around it that repeats requests")
                    .isEqualTo("ReconnectingClient");
            CompletableFuture<Thread> answeredOn = owned.client()
                    .casGet("last")
                    .thenApply(none -> Thread.currentThread())
                    .toCompletableFuture();
            List<CompletableFuture<GetResult<byte[]>>> more = new ArrayList<>();
            for (int i = 0; i < 5_000; i++) {
                more.add(owned.client().casGet("more").toCompletableFuture());
            }
            assertThat(more).as("too many at once").noneMatch(CompletableFuture::isDone);
            asked.countDown();

            Thread thread = answeredOn.get(1, TimeUnit.MINUTES);
            assertThat(started()).containsExactly(thread);
            assertThat(thread.isDaemon()).isTrue();
            assertThat(server.connections()).isEqualTo(1);
            owned.close();
            until(() -> started().isEmpty() && server.gone() == 1);
            assertThat(more).allMatch(CompletableFuture::isCompletedExceptionally);
        }
    }

    /** Netty ends a thread at an Error, and does not start it again. */
    @Test
    void threadThatHasEnded_isReplaced_andRequestsAreAnswered() throws Exception {
        try (FakeMemcached server = new FakeMemcached(line -> "END")) {
            OwnedClient owned = connect(server, Duration.ofMinutes(5));
            AtomicReference<EventExecutor> thread = new AtomicReference<>();
            until(
                    () -> { // on this thread if the answer is there already
                        owned.client()
                                .casGet("a")
                                .thenAccept(none -> thread.set(ThreadExecutorMap.currentExecutor()))
                                .toCompletableFuture()
                                .get(1, TimeUnit.MINUTES);
                        return thread.get() != null;
                    });
            thread.get().shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).sync();

            until(() -> owned.client()
                    .casGet("b")
                    .handle((none, failure) -> failure == null)
                    .toCompletableFuture()
                    .completeOnTimeout(false, 1, TimeUnit.SECONDS)
                    .get());
            owned.close();
            until(() -> started().isEmpty());
        }
    }

    /** The request time-out is for the connection, too: one that is half dead would keep all requests. */
    @Test
    void server_thatDoesNotAnswer_losesTheConnection_afterTheTimeoutThatWasGiven() throws Exception {
        try (FakeMemcached server = new FakeMemcached(line -> line.startsWith(GREETING) ? "END" : "")) {
            OwnedClient patient = connect(server, Duration.ofMinutes(5));
            CompletableFuture<?> waiting = patient.client().casGet("a").toCompletableFuture();
            OwnedClient hasty = connectHastily(server);
            assertThat(hasty.client().casGet("a").toCompletableFuture()).failsWithin(PATIENCE);
            assertThat(waiting).isNotDone();
            hasty.close();
            patient.close();
        }
    }

    @Test
    void connecting_thatIsInterrupted_saysSo_andLeavesNothing() throws Exception {
        try (FakeMemcached server = new FakeMemcached(line -> "")) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> connect(server, Duration.ofMinutes(5)))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessage("connecting to " + server.uri() + " was interrupted; try again")
                    .hasCauseInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).as("the thread stays interrupted").isTrue();
            until(() -> started().isEmpty() && server.gone() == server.connections());
        }
    }

    @Test
    void connecting_withoutAUsableAuthority_saysSo_andLeavesNothing() {
        assertThatThrownBy(() -> OwnedClient.connect(
                        MemcachedUri.parse("memcacheds://127.0.0.1:1?ca=/does/not/exist.pem"), PATIENCE))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("parameter 'ca' cannot be used");
        until(() -> started().isEmpty());
    }

    /** A memcached that requires a login, or has the command disabled, is still recognised. */
    @Test
    void whoeverAnswersAsMemcachedDoes_isOne() throws Exception {
        for (String version : new String[] {"VERSION 1.6.18", "CLIENT_ERROR unauthenticated", "ERROR"}) {
            try (FakeMemcached server =
                    new FakeMemcached(line -> line.equals("version") ? version : FakeMemcached.CLOSE)) {
                assertThatThrownBy(() -> connect(server, PATIENCE))
                        .as(version)
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageStartingWith("connecting to " + server.uri() + ": ")
                        .hasMessageEndingWith("; check the server and try again");
            }
        }
        try (FakeMemcached server =
                new FakeMemcached(line -> line.equals("version") ? "+OK VERSION" : FakeMemcached.CLOSE)) {
            assertThatThrownBy(() -> connect(server, PATIENCE))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("is not memcached");
        }
    }
}
