package dev.holdfast.lock.consul.internal.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockConfigurationException;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Requests to agents that misbehave. */
final class ConsulHttpTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** The time-out of the JDK's client ends with the headers. */
    @Test
    void bodyThatStalls_isATimeout_andGivesTheConnectionUp() throws Exception {
        try (FakeAgent agent = new FakeAgent((path, body) -> path.contains("warm") ? "200 {}" : "stall")) {
            ConsulHttp http = new ConsulHttp(agent.connection());
            http.get("/v1/kv/warm", Deadline.in(60_000)).get(1, TimeUnit.MINUTES);
            CompletableFuture<Reply> put = http.put("/v1/session/create", "{}", Deadline.in(3_000));
            CompletableFuture<Reply> watch = http.blockingGet("/v1/kv/a?index=1", 3_000);

            assertThat(put).failsWithin(PATIENCE).withThrowableThat().withCauseInstanceOf(TimeoutException.class);
            assertThat(watch).failsWithin(PATIENCE).withThrowableThat().withCauseInstanceOf(TimeoutException.class);
            await().atMost(PATIENCE).until(() -> agent.goneClients() == 2);
            http.close();
        }
    }

    @Test
    void cancelledRequest_isNoFailureOfTheAgent() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        try (FakeAgent first = new FakeAgent((path, body) -> {
                    if (path.contains("index")) {
                        never.await();
                    }
                    return "200 first";
                });
                FakeAgent second = new FakeAgent((path, body) -> "200 second")) {
            ConsulHttp http = new ConsulHttp(first.connection(second.address()));
            CompletableFuture<Reply> watch = http.blockingGet("/v1/kv/a?index=1", 60_000);
            await().atMost(PATIENCE).until(() -> first.requests() == 1);
            watch.cancel(true);

            assertThat(http.get("/v1/kv/a", Deadline.in(30_000))
                            .get(1, TimeUnit.MINUTES)
                            .body())
                    .isEqualTo("first");
            http.close();
        }
    }

    /** A query of a watch would go on for minutes, on a client that the application still uses. */
    @Test
    void close_endsWhatIsUnderWay() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        try (FakeAgent agent = new FakeAgent((path, body) -> {
            never.await();
            return "200 x";
        })) {
            ConsulHttp http = new ConsulHttp(agent.connection());
            CompletableFuture<Reply> watch = http.blockingGet("/v1/kv/a?index=1", 600_000);
            CompletableFuture<Reply> put = http.put("/v1/session/create", "{}", Deadline.in(600_000));
            await().atMost(PATIENCE).until(() -> agent.requests() == 2);

            http.close();

            await().atMost(PATIENCE).until(() -> watch.isCompletedExceptionally() && put.isCompletedExceptionally());
        }
    }

    /** A caller that retries immediately after a failure must not reach the same agent. */
    @Test
    void afterAFailure_theNextRequestGoesToTheNextAgent() throws Exception {
        URI nobody;
        try (ServerSocket socket = new ServerSocket(0)) {
            nobody = URI.create("http://127.0.0.1:" + socket.getLocalPort());
        }
        try (FakeAgent live = new FakeAgent((path, body) -> "200 live")) {
            for (FakeAgent.Answers answers :
                    List.<FakeAgent.Answers>of((path, body) -> "500 x", (path, body) -> "stall")) {
                try (FakeAgent bad = new FakeAgent(answers)) {
                    assertThat(askedTwice(bad.connection(live.address()))).isEqualTo("live");
                }
            }
            ConsulConnection dead = live.connection(live.address());
            assertThat(askedTwice(new ConsulConnection(dead.client(), List.of(nobody, live.address()), null, () -> {})))
                    .isEqualTo("live");
        }
    }

    /** Sends a request, and another one from the callback of the first answer. */
    private static String askedTwice(ConsulConnection connection) throws Exception {
        ConsulHttp http = new ConsulHttp(connection);
        CompletableFuture<Reply> second = http.get("/v1/kv/a", Deadline.in(300))
                .handle((reply, failure) -> http.get("/v1/kv/a", Deadline.in(30_000)))
                .thenCompose(again -> again);
        String said = second.get(1, TimeUnit.MINUTES).body();
        http.close();
        return said;
    }

    /** While the source of the token fails, each waiting request fails immediately. */
    @Test
    void thousandsThatFailAtOnce_loseNoPermit() throws Exception {
        CountDownLatch all = new CountDownLatch(1);
        AtomicReference<String> token = new AtomicReference<>("token");
        try (FakeAgent agent = new FakeAgent((path, body) -> {
            all.await();
            return "200 x";
        })) {
            ConsulConnection plain = agent.connection();
            ConsulHttp http =
                    new ConsulHttp(new ConsulConnection(plain.client(), plain.agents(), token::get, () -> {}));
            List<CompletableFuture<Reply>> first = new ArrayList<>();
            for (int i = 0; i < 7; i++) {
                first.add(http.get("/v1/kv/a", Deadline.in(300_000)));
            }
            await().atMost(PATIENCE).until(() -> agent.requests() == 7);
            token.set(""); // which is refused before anything is sent
            List<CompletableFuture<Reply>> later = new ArrayList<>();
            for (int i = 0; i < 50_000; i++) {
                later.add(http.get("/v1/kv/a", Deadline.in(300_000)));
            }
            all.countDown();
            CompletableFuture.allOf(first.toArray(CompletableFuture<?>[]::new)).get(1, TimeUnit.MINUTES);
            for (CompletableFuture<Reply> each : later) {
                assertThat(each)
                        .failsWithin(PATIENCE)
                        .withThrowableThat()
                        .withCauseInstanceOf(LockConfigurationException.class);
            }
            token.set("token");
            assertThat(http.get("/v1/kv/a", Deadline.in(30_000))
                            .get(1, TimeUnit.MINUTES)
                            .status())
                    .isEqualTo(200);
            http.close();
        }
    }

    /** Without memory for its answer, a request fails, and those behind it are sent. */
    @Test
    void requestsThatEndWithAnError_fail_andLoseNoPermit() throws Exception {
        try (FakeAgent agent = new FakeAgent((path, body) -> "200 x")) {
            ConsulConnection connection = FaultyHttpClient.connection(agent);
            FaultyHttpClient client = (FaultyHttpClient) connection.client();
            ConsulHttp http = new ConsulHttp(connection);
            for (Deadline deadline : List.of(
                    Deadline.in(30_000),
                    Deadline.in(30_000).goingFirst(),
                    Deadline.in(30_000).forRenewal())) {
                client.failing.set(10);
                for (int i = 0; i < 10; i++) {
                    assertThat(http.get("/v1/kv/a", deadline).handle((reply, failure) -> failure))
                            .succeedsWithin(PATIENCE)
                            .isSameAs(client.error);
                }
                assertThat(http.get("/v1/kv/a", deadline)).succeedsWithin(PATIENCE);
            }
            http.close();
        }
    }
}
