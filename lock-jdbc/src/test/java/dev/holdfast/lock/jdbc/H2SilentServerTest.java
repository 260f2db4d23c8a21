package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import java.time.Duration;
import java.util.Set;
import java.util.stream.Collectors;
import org.h2.tools.Server;
import org.junit.jupiter.api.Test;

/** H2's driver waits for an answer without a limit, unless its address has one, and cannot abort a connection. */
final class H2SilentServerTest {

    @Test
    void close_serverIsSilent_noThreadStays() throws Exception {
        Server server = Server.createTcpServer("-tcpPort", "0", "-ifNotExists").start();
        Set<Thread> before = ours();
        try (FaultProxy proxy = FaultProxy.to("127.0.0.1", server.getPort())) {
            String address = "/mem:silent;DB_CLOSE_DELAY=-1;USER=sa;holdfast.createTable=true";
            LockClient.connect("jdbc:h2:tcp://127.0.0.1:" + server.getPort() + address)
                    .close();
            LockClient client = LockClient.connect(
                    "jdbc:h2:tcp://127.0.0.1:" + proxy.port() + address,
                    LockClientOptions.builder()
                            .requestTimeout(Duration.ofSeconds(3))
                            .build());
            client.lock("a").acquire();
            proxy.blackHole();

            client.close();

            await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
                Set<Thread> left = ours();
                left.removeAll(before);
                assertThat(left).isEmpty();
            });
        } finally {
            server.stop();
        }
    }

    private static Set<Thread> ours() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().matches("holdfast-(?!proxy).*"))
                .collect(Collectors.toSet());
    }
}
