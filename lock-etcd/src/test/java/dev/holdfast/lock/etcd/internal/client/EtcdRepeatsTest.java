package dev.holdfast.lock.etcd.internal.client;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.etcd.EtcdFixture;
import dev.holdfast.lock.etcd.EtcdInternals;
import dev.holdfast.lock.testkit.server.network.Direction;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** No library below repeats a request whose connection broke after etcd had carried it out, counted by the server. */
final class EtcdRepeatsTest {
    private static final ByteSequence KEY = EtcdKeys.bytes("repeats");
    private static final Map<String, Function<Client, CompletableFuture<?>>> REQUESTS = Map.of(
            "Txn",
            client -> client.getKVClient()
                    .txn()
                    .Then(Op.put(KEY, KEY, PutOption.DEFAULT))
                    .commit(),
            "DeleteRange",
            client -> client.getKVClient().delete(KEY),
            "LeaseGrant",
            client -> client.getLeaseClient().grant(60, 10, TimeUnit.SECONDS));
    private final EtcdFixture fixture = start();

    private static EtcdFixture start() {
        try {
            return EtcdFixture.single();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    private ClientBuilder builder() {
        return Client.builder().endpoints("http://127.0.0.1:" + fixture.proxy().port());
    }

    @Test
    void request_whoseReplyIsLost_isSentOnce() throws Exception {
        for (ClientBuilder builder :
                List.of(EtcdInternals.recommended(builder(), PATIENCE), EtcdInternals.dedicated(builder(), PATIENCE))) {
            try (Client client = builder.build()) {
                for (var request : REQUESTS.entrySet()) {
                    client.getKVClient().get(KEY).get(1, TimeUnit.MINUTES);
                    long before = fixture.server().calls(request.getKey());
                    fixture.proxy().hold(Direction.TO_CLIENT);
                    CompletableFuture<?> answer = request.getValue().apply(client);
                    await().atMost(PATIENCE).until(() -> fixture.server().calls(request.getKey()) == before + 1);

                    fixture.proxy().resetAll();
                    fixture.proxy().pass();

                    assertThat(catchThrowable(() -> answer.get(1, TimeUnit.MINUTES)))
                            .as(request.getKey())
                            .isNotNull();
                    await().atMost(PATIENCE)
                            .until(() -> catchThrowable(
                                            () -> client.getKVClient().get(KEY).get(1, TimeUnit.MINUTES))
                                    == null);
                    assertThat(fixture.server().calls(request.getKey()))
                            .as(request.getKey())
                            .isEqualTo(before + 1);
                }
            }
        }
    }
}
