package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.testkit.server.FaultProxy;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** A client whose connections are cut repeatedly reconnects each time. */
final class CutOffTest {
    private static final int CLIENTS = 8;
    private static final int ROUNDS = 20;
    private static final int MAX_MILLIS = 350;
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @Test
    void cutOff_againAndAgain_everyClientComesBack() throws Exception {
        try (MemcachedServer server = MemcachedServer.start();
                FaultProxy proxy = FaultProxy.to(server.process())) {
            List<LockClient> clients = new ArrayList<>();
            try {
                for (int i = 0; i < CLIENTS; i++) {
                    clients.add(LockClient.connect("memcached://" + proxy.host() + ":" + proxy.port()));
                }
                for (int round = 0; round < ROUNDS; round++) {
                    proxy.cut();
                    Thread.sleep(ThreadLocalRandom.current().nextInt(MAX_MILLIS));
                    proxy.pass();
                    for (LockClient client : clients) {
                        Awaitility.await("an answer in round " + round)
                                .atMost(PATIENCE)
                                .ignoreException(LockUnavailableException.class)
                                .untilAsserted(() ->
                                        assertThat(client.holder("cut-off")).isEmpty());
                    }
                }
            } finally {
                clients.forEach(LockClient::close);
            }
        }
    }
}
