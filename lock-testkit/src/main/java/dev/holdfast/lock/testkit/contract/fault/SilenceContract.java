package dev.holdfast.lock.testkit.contract.fault;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.contract.Actor;
import dev.holdfast.lock.testkit.contract.ClientGroup;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.support.LogCapture;
import dev.holdfast.lock.testkit.support.Waits;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The first group, before any test that disturbs the store: what is said later may be about that. */
public abstract class SilenceContract extends ClientGroup {

    public SilenceContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("says nothing from its first connection to its close, nor does any driver or client library")
    void cleanClose_allLoggers_areSilent() throws Exception {
        Set<Thread> before = threads();
        try (LogCapture log = new LogCapture(threadsOfEarlierClients())) {
            String name = newName();
            try (LockClient holding =
                            fixture().newClient(ContractContext.clientOptions().build());
                    LockClient waiting =
                            fixture().newClient(ContractContext.clientOptions().build())) {
                Lease held = holding.lock(name).acquire();
                CompletableFuture<Lease> next = waiting.lock(name).acquireAsync(PATIENCE);
                assertThat(waiting.lock(name).tryLock()).isFalse();
                held.close();
                Lease got = Actor.result(next);
                assertThat(got.isValid()).isTrue();
                got.close();
                holding.lock(name).lock(); // left to close
            }
            Awaitility.await("the clients' threads have ended")
                    .atMost(Waits.PATIENCE)
                    .untilAsserted(() -> assertThat(threads()).isSubsetOf(before));
            assertThat(log.warnings()).as("of all loggers").isEmpty();
            assertThat(log.ours()).as("of our own, from INFO on").isEmpty();
        }
    }

    /**
     * An earlier test of this JVM may have a client that is still closing, and whose server or pool has gone. All of Holdfast's log
     * lines come from one thread, which is listened to.
     */
    private static Set<Thread> threadsOfEarlierClients() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("Curator-")
                        || thread.getName().startsWith("holdfast-")
                                && !thread.getName().equals("holdfast-log")
                        || thread.getName().contains("-SendThread(")
                        || thread.getName().contains("-EventThread"))
                .collect(Collectors.toSet());
    }

    /** Those of proxies are the test's, and stay as long as a client library keeps its connections. */
    private static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("holdfast-")
                        && !thread.getName().startsWith("holdfast-proxy-"))
                .collect(Collectors.toCollection(HashSet::new));
    }
}
