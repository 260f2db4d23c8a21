package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Times, as ratios to a raw transaction of the same run; a busy machine is forgiven much. */
final class EtcdHandOffTimeTest {
    private static final int ROUNDS = 300;
    private static final int WARM_UP = 100;

    @Test
    void handOffAndPair_takeFewRawTransactions() throws Exception {
        try (EtcdFixture fixture = EtcdFixture.single();
                Client raw = Client.builder()
                        .endpoints(fixture.server().endpoints().get(0))
                        .build();
                LockClient first =
                        LockClient.connect("etcd://" + fixture.server().hostsAndPorts());
                LockClient second =
                        LockClient.connect("etcd://" + fixture.server().hostsAndPorts())) {
            List<Long> transactions = new ArrayList<>();
            List<Long> handOffs = new ArrayList<>();
            List<Long> pairs = new ArrayList<>();
            DistributedLock alone = first.lock("alone");
            Lease held = first.lock("passed").acquire();
            for (int i = 0; i < ROUNDS + WARM_UP; i++) {
                transactions.add(timed(() -> transaction(raw)));
                pairs.add(timed(() -> {
                    alone.lock();
                    alone.unlock();
                }));
                LockClient next = i % 2 == 0 ? second : first;
                CompletableFuture<Long> gotNanos = new CompletableFuture<>();
                CompletableFuture<Lease> waiting = next.lock("passed")
                        .acquireAsync(Duration.ofSeconds(30))
                        .whenComplete((lease, failure) -> gotNanos.complete(System.nanoTime()));
                org.awaitility.Awaitility.await()
                        .pollInterval(Duration.ofMillis(2))
                        .until(() -> fixture.server().sum("etcd_debugging_mvcc_watcher_total", "") == 1);
                long start = System.nanoTime();
                held.close();
                held = waiting.get(30, TimeUnit.SECONDS);
                handOffs.add(gotNanos.get() - start);
            }
            held.close();
            double handOff = median(handOffs) / median(transactions);
            double pair = median(pairs) / median(transactions);
            System.out.printf(
                    "raw transaction %.0f µs; lock and unlock %.2f of it; hand-off from before the release %.2f of it%n",
                    median(transactions) / 1_000, pair, handOff);
            assertThat(handOff).isLessThan(8);
            assertThat(pair).isLessThan(6);
        }
    }

    private interface Action {
        void run() throws Exception;
    }

    private static long timed(Action action) throws Exception {
        long start = System.nanoTime();
        action.run();
        return System.nanoTime() - start;
    }

    private static void transaction(Client raw) throws Exception {
        raw.getKVClient()
                .txn()
                .Then(Op.put(EtcdKeys.bytes("raw"), EtcdKeys.bytes("x"), PutOption.DEFAULT))
                .commit()
                .get(10, TimeUnit.SECONDS);
    }

    private static double median(List<Long> values) {
        List<Long> warm = new ArrayList<>(values.subList(WARM_UP, values.size()));
        Collections.sort(warm);
        return warm.get(warm.size() / 2);
    }
}
