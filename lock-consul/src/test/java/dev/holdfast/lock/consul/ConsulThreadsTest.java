package dev.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.server.ConsulServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The threads of a client that was made from an address: few, named, and gone after {@code close}. */
final class ConsulThreadsTest {
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int CLIENTS = 3;

    private static Set<Thread> threads(String part) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().contains(part))
                .peek(thread ->
                        assertThat(thread.isDaemon()).as(thread.getName()).isTrue())
                .collect(Collectors.toSet());
    }

    /** Those of other tests' clients may end at any time. */
    private static Set<Thread> threads(String part, Set<Thread> before) {
        Set<Thread> made = threads(part);
        made.removeAll(before);
        return made;
    }

    @Test
    void threads_ofManyRequests_areBoundedAndEndWithTheClient() throws Exception {
        List<LockClient> clients = new ArrayList<>();
        try (ConsulServer server = ConsulServer.start()) {
            Set<Thread> answering = threads("holdfast-consul-");
            Set<Thread> selecting = threads("SelectorManager"); // that of the server's helper among them
            for (int i = 0; i < CLIENTS; i++) {
                clients.add(LockClient.connect(
                        "consul://127.0.0.1:" + server.agent().port()));
            }
            List<CompletableFuture<Lease>> leases = new ArrayList<>();
            for (int i = 0; i < 300; i++) { // more than an agent takes connections
                leases.add(clients.get(i % CLIENTS).lock("name-" + i).acquireAsync(PATIENCE));
            }
            for (CompletableFuture<Lease> lease : leases) {
                lease.get(2, TimeUnit.MINUTES);
            }
            assertThat(threads("holdfast-consul-", answering))
                    .as("threads for answers")
                    .hasSizeBetween(1, 2 * CLIENTS);
            assertThat(threads("SelectorManager", selecting)).as("selectors").hasSize(2 * CLIENTS);

            clients.forEach(LockClient::close);
            leases.clear();

            // The JDK's client has no close() before Java 21, and ends when it is collected.
            await().atMost(PATIENCE).untilAsserted(() -> {
                System.gc();
                assertThat(threads("holdfast-consul-", answering))
                        .as("threads for answers")
                        .isEmpty();
                assertThat(threads("SelectorManager", selecting))
                        .as("selectors")
                        .isEmpty();
            });
        } finally {
            clients.forEach(LockClient::close); // which also keeps the closed ones from being collected before
        }
    }
}
