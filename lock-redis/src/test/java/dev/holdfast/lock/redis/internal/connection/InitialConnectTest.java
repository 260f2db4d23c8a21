package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisURI;
import io.netty.channel.ConnectTimeoutException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** How often the first connection is tried, what becomes of one that comes late, and what is said: without a server. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class InitialConnectTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final AtomicInteger tries = new AtomicInteger();
    private volatile String greeting = "+PONG";
    private ServerSocket port;

    @BeforeAll
    void listen() throws IOException {
        port = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread talking = new Thread(this::talk, "greeting");
        talking.setDaemon(true);
        talking.start();
    }

    @AfterAll
    void close() throws IOException {
        port.close();
    }

    private void talk() {
        while (!port.isClosed()) {
            try (Socket socket = port.accept()) {
                socket.getInputStream().read(new byte[64]); // else closing would take the answer back
                socket.getOutputStream().write((greeting + "\r\n").getBytes(StandardCharsets.US_ASCII));
            } catch (IOException e) {
                // That client has gone, or this is closed.
            }
        }
    }

    private InitialConnect opening(Duration timeout, int repeats) {
        return new InitialConnect(false, List.of(RedisURI.create("127.0.0.1", port.getLocalPort())), timeout, repeats);
    }

    private int triesOf(Consumer<Supplier<String>> opening, RuntimeException failure) {
        tries.set(0);
        assertThatThrownBy(() -> opening.accept(() -> {
                    tries.incrementAndGet();
                    throw failure;
                }))
                .isSameAs(failure);
        return tries.get();
    }

    private int triesOf(RuntimeException failure, int repeats) {
        try (InitialConnect opening = opening(PATIENCE, repeats)) {
            return triesOf(open -> opening.inTime(open, late -> {}), failure);
        }
    }

    @Test
    void timeOut_isTriedAgain_whereTheServerAnswersOtherwise() {
        for (Exception timeOut : List.of(
                new TimeoutException("expect it"),
                new RedisCommandTimeoutException("expect it"),
                new ConnectTimeoutException("expect it"))) {
            greeting = "+PONG";
            assertThat(triesOf(new RedisConnectionException("cannot", timeOut), 4))
                    .isEqualTo(5);
            assertThat(triesOf(new RedisConnectionException("cannot", timeOut), 0))
                    .isEqualTo(1);
        }
        greeting = "-NOAUTH Authentication required.";
        assertThat(triesOf(new RedisCommandTimeoutException("expect it"), 2)).isEqualTo(3);
        greeting = "220 mail.example";
        assertThat(triesOf(new RedisCommandTimeoutException("expect it"), 2)).isEqualTo(1);
        greeting = "+PONG";
        assertThat(triesOf(new RedisConnectionException("expect it"), 4))
                .as("what is no time-out")
                .isEqualTo(1);
    }

    /** The login may have been refused: then one of the next tries says so. A cluster's client has it among the suppressed. */
    @Test
    void endWithoutAWord_isTriedAgain_whileThereIsTime() throws InterruptedException {
        RedisConnectionException cluster = new RedisConnectionException("no node; expect it");
        cluster.addSuppressed(
                new RedisConnectionException("cannot", new RedisConnectionException("Connection closed prematurely")));
        for (RuntimeException untold : List.of(
                new RedisConnectionException("cannot", new RedisConnectionException("Connection closed prematurely")),
                new RedisConnectionException(
                        "cannot", new IllegalStateException("RedisHandshakeHandler not registered")),
                cluster)) {
            assertThat(triesOf(untold, 0)).isEqualTo(5);
        }
        try (InitialConnect opening = opening(Duration.ofSeconds(1), 0)) {
            Thread.sleep(1_100);
            assertThat(triesOf(open -> opening.inTime(open, late -> {}), cluster))
                    .as("its time is over")
                    .isEqualTo(1);
        }
    }

    /** Only the first connections of a process have to load the client. */
    @Test
    void timeOut_onceAConnectionHasWorked_isNotTriedAgain() {
        greeting = "+PONG";
        RedisCommandTimeoutException failure = new RedisCommandTimeoutException("expect it");
        try (InitialConnect opening = opening(PATIENCE, 4)) {
            assertThat(opening.inTime(() -> "connected", late -> {})).isEqualTo("connected");
            assertThat(triesOf(open -> opening.inTime(open, late -> {}), failure))
                    .as("what is connected anew")
                    .isEqualTo(1);
        }
        List<RedisURI> server = List.of(RedisURI.create("127.0.0.1", port.getLocalPort()));
        try (InitialConnect next = new InitialConnect(false, server, PATIENCE)) {
            assertThat(triesOf(open -> next.inTime(open, late -> {}), failure))
                    .as("another client")
                    .isEqualTo(1);
            assertThat(triesOf(open -> next.nextInTime(open, late -> {}), failure))
                    .isEqualTo(1);
        }
    }

    /** The first connection may have used up the time: a cluster's channels, and Redlock's other masters, come after it. */
    @Test
    void timeOut_ofWhatTheFirstClientOpensNext_isTriedAgain() {
        greeting = "+PONG";
        RedisCommandTimeoutException failure = new RedisCommandTimeoutException("expect it");
        try (InitialConnect first = opening(PATIENCE, 4);
                InitialConnect otherMaster = opening(PATIENCE, 4)) {
            assertThat(first.inTime(() -> "connected", late -> {})).isEqualTo("connected");
            assertThat(triesOf(open -> first.nextInTime(open, late -> {}), failure))
                    .isEqualTo(5);
            assertThat(triesOf(open -> otherMaster.inTime(open, late -> {}), failure))
                    .isEqualTo(5);
        }
    }

    @Test
    void opened_onAThreadOfItsOwn_isReturned_andErrorsAreThrownAsTheyAre() {
        AtomicInteger lost = new AtomicInteger();
        try (InitialConnect opening = opening(PATIENCE, 4)) {
            Thread thread = opening.inTime(Thread::currentThread, late -> lost.incrementAndGet());
            assertThat(thread.getName()).isEqualTo("holdfast-redis-open");
            assertThat(thread.isDaemon()).isTrue();
            NoSuchMethodError tooOld = new NoSuchMethodError("made up by the test; expect it");
            assertThatThrownBy(() -> opening.inTime(
                            () -> {
                                throw tooOld;
                            },
                            late -> {}))
                    .isSameAs(tooOld);
        }
        assertThat(lost).hasValue(0);
    }

    @Test
    void whatIsOpenedTooLate_isGivenUp() throws Exception {
        CountDownLatch mayOpen = new CountDownLatch(1);
        CompletableFuture<String> late = new CompletableFuture<>();
        try (InitialConnect opening = opening(Duration.ofMillis(20), 0)) {
            assertThatThrownBy(() -> opening.inTime(() -> afterwards(mayOpen), late::complete))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessage("connecting to Redis: no answer in time; check the server")
                    .hasCauseInstanceOf(TimeoutException.class);
        }
        mayOpen.countDown();
        assertThat(late.get(10, TimeUnit.SECONDS)).isEqualTo("connected");
    }

    @Test
    void whatIsOpenedAfterAnInterrupt_isGivenUp() throws Exception {
        CountDownLatch mayOpen = new CountDownLatch(1);
        CompletableFuture<String> late = new CompletableFuture<>();
        try (InitialConnect opening = opening(PATIENCE, 4)) {
            Thread.currentThread().interrupt();
            Throwable failure = catchThrowable(() -> opening.inTime(() -> afterwards(mayOpen), late::complete));
            assertThat(Thread.interrupted()).as("the interrupt is kept").isTrue();
            assertThat(failure)
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessage("connecting to Redis was interrupted")
                    .hasCauseInstanceOf(InterruptedException.class);
        }
        mayOpen.countDown();
        assertThat(late.get(10, TimeUnit.SECONDS)).isEqualTo("connected");
    }

    private static String afterwards(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return "connected";
    }

    private record Address(String text, boolean cluster, List<RedisURI> servers) {}

    private static Stream<Address> addresses() {
        return Stream.of(
                of("redis://h:1"),
                of("rediss://h:1"),
                of("redis-cluster://h:1,i:2"),
                of("rediss-cluster://h:1,i:2"),
                of("redis-sentinel://h:1,i:2#group"),
                of("rediss-sentinel://h:1#group"),
                new Address(
                        "the socket /tmp/redis.sock",
                        false,
                        List.of(RedisURI.Builder.socket("/tmp/redis.sock").build())));
    }

    private static Address of(String uri) {
        RedisUri parsed = RedisUri.parse(uri);
        return new Address(uri.replace("#group", ""), parsed.cluster(), parsed.servers());
    }

    @ParameterizedTest
    @MethodSource("addresses")
    void refusal_namesTheAddress_andNeedsNoLookAtIt(Address address) {
        RedisCommandExecutionException refused = new RedisCommandExecutionException("WRONGPASS, made up; expect it");
        try (InitialConnect opening = new InitialConnect(address.cluster(), address.servers(), PATIENCE)) {
            for (Throwable failure : List.of(refused, new LockUnavailableException("late", refused))) {
                assertThat(opening.explain(failure))
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageStartingWith("connecting to " + address.text() + ": Redis refuses it: WRONGPASS");
            }
            LockUnavailableException alone = new LockUnavailableException("interrupted");
            assertThat(opening.explain(alone)).isSameAs(alone);
        }
    }

    /** A client whose event loops have ended never answers. */
    @Test
    void end_endsTheThreadThatStillOpens() throws Exception {
        InitialConnect opening = opening(Duration.ofMillis(100), 0);
        CompletableFuture<Thread> waiting = new CompletableFuture<>();
        assertThatThrownBy(() -> opening.inTime(
                        () -> {
                            waiting.complete(Thread.currentThread());
                            try {
                                return new CompletableFuture<String>().get();
                            } catch (Exception e) {
                                throw new IllegalStateException(e);
                            }
                        },
                        late -> {}))
                .isInstanceOf(LockUnavailableException.class);
        assertThat(waiting.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS).isAlive())
                .isTrue();

        opening.end();
        waiting.get().join(PATIENCE.toMillis());
        assertThat(waiting.get().isAlive()).isFalse();
    }
}
