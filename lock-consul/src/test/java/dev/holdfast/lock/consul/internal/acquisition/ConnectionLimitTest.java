package dev.holdfast.lock.consul.internal.acquisition;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.consul.ConsulFixture;
import dev.holdfast.lock.consul.internal.http.FakeAgent;
import dev.holdfast.lock.consul.internal.http.OwnHttpClient;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.ConsulServer;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** An agent accepts 200 connections of a machine, which all its processes share. */
@House("middlebox:limits")
class ConnectionLimitTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int LIMIT = 200;

    @Test
    void renewal_whenTheAgentRefusesConnections_hasItsOwn_andTheMessageNamesTheLimit() throws Exception {
        List<Socket> others = new ArrayList<>();
        try (ConsulServer server = ConsulServer.start();
                ConsulLockBackend backend = ConsulFixture.backend(server.agent().port(), Duration.ZERO)) {
            Grant grant = acquire(backend, "precious", 60_000);
            BackendDriver waiter = BackendDriver.of(backend, "precious", 60_000);
            waiter.queueUp();
            backend.subscribe(waiter.ticket(), () -> {});
            for (int i = 0; i < LIMIT; i++) {
                others.add(new Socket(
                        InetAddress.getLoopbackAddress(), server.agent().port()));
            }

            assertThat(renew(backend, grant)).isInstanceOf(RenewResult.Renewed.class);
            assertThatThrownBy(() -> LockClient.connect(
                            "consul://127.0.0.1:" + server.agent().port()))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("http_max_conns_per_client");
        } finally {
            for (Socket other : others) {
                other.close();
            }
        }
    }

    @Test
    void client_withManyNamesAndAttempts_hasSixteenConnections() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        try (FakeAgent agent = new FakeAgent((path, body) -> {
                    if (path.startsWith("/v1/session/create")) {
                        return "200 {\"ID\":\"s-1\"}";
                    }
                    if (path.startsWith("/v1/kv/") && !path.contains("index=")) {
                        return "200@7 x";
                    }
                    if (path.startsWith("/v1/txn") && body.contains("\"test/first\"")) {
                        return "200 {\"Results\":[{\"KV\":{\"Key\":\"test/first\",\"CreateIndex\":5,\"ModifyIndex\":5}}]}";
                    }
                    end.await();
                    return "500 ";
                });
                ConsulLockBackend backend = new ConsulLockBackend(
                        new OwnHttpClient(PATIENCE, null).to(List.of(agent.address()), null, null),
                        ConsulFixture.KEYS,
                        Duration.ofSeconds(1),
                        null)) {
            Grant first = acquire(backend, "first", 60_000);
            for (int i = 0; i < 50; i++) {
                backend.subscribe(
                        new ConsulTicket(
                                BackendDriver.of(backend, "n" + i, 60_000).acquisition()),
                        () -> {});
            }
            await().atMost(PATIENCE).until(() -> agent.connections() >= 8);
            backend.renew(List.of(first), 60_000);
            for (int i = 0; i < 50; i++) {
                BackendDriver.of(backend, "a" + i, 60_000).send(0);
            }

            await().during(Duration.ofMillis(300)).atMost(PATIENCE).until(() -> agent.connections() == 16);
            end.countDown();
        }
    }
}
