package dev.holdfast.lock.consul.internal.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** A client without answers is replaced, if another one has them. */
final class HealingHttpClientTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final long TIMEOUT_MILLIS = 50;

    private final List<FaultyHttpClient> made = new CopyOnWriteArrayList<>();
    private final HealingHttpClient client = new HealingHttpClient(() -> {
        made.add(new FaultyHttpClient(HttpClient.newHttpClient()));
        return made.get(made.size() - 1);
    });

    private static boolean isAnswered(ConsulHttp http) {
        return http.get("/v1/any", Deadline.in(TIMEOUT_MILLIS))
                .handle((reply, failure) -> failure == null)
                .join();
    }

    private ConsulHttp http(FakeAgent agent) {
        return new ConsulHttp(new ConsulConnection(client, List.of(agent.address()), null, () -> {}));
    }

    @Test
    void withoutAnswers_whileAnotherClientIsAnswered_theOtherOneIsUsed() throws Exception {
        try (FakeAgent agent = new FakeAgent((path, body) -> "200 []")) {
            ConsulHttp http = http(agent);
            made.get(0).deaf.set(true);
            await().atMost(PATIENCE).until(() -> isAnswered(http));
            assertThat(client.last()).isNotSameAs(made.get(0));
        }
    }

    @Test
    void closed_staysAsItIs() throws Exception {
        try (FakeAgent agent = new FakeAgent((path, body) -> "200 []")) {
            ConsulHttp http = http(agent);
            made.get(0).deaf.set(true);
            assertThat(client.last()).isSameAs(made.get(0));
            await().atMost(PATIENCE).until(() -> !isAnswered(http) && made.size() > 1);
            assertThat(client.last()).isSameAs(made.get(0));
        }
    }
}
