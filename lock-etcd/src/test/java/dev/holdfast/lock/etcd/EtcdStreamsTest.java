package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.EtcdServer;
import io.etcd.jetcd.Client;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Waiting does not use up the streams that a server or a proxy allows for a connection. */
@House("middlebox:limits")
final class EtcdStreamsTest {
    private static final int WAITS = 120;
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private static Client etcd(EtcdServer server, UnaryOperator<io.etcd.jetcd.ClientBuilder> settings) {
        return settings.apply(Client.builder().endpoints(server.endpoints().get(0)))
                .build();
    }

    /** Waits for more names than there are streams, and takes a free lock meanwhile. */
    private static void waitsLeaveOtherLocksAlone(EtcdServer server, LockClient holder, LockClient waiter)
            throws Exception {
        List<Lease> held = new ArrayList<>();
        List<CompletableFuture<Lease>> waits = new ArrayList<>();
        for (int i = 0; i < WAITS; i++) {
            held.add(holder.lock("n" + i).acquire());
        }
        long before = server.calls("Txn");
        for (int i = 0; i < WAITS; i++) {
            waits.add(waiter.lock("n" + i).acquireAsync(PATIENCE).toCompletableFuture());
        }
        await().atMost(PATIENCE).until(() -> server.calls("Txn") >= before + WAITS);

        for (int i = 0; i < 3; i++) {
            assertThat(waiter.lock("free").tryAcquire()).hasValueSatisfying(Lease::close);
        }
        held.forEach(Lease::close);
        for (CompletableFuture<Lease> wait : waits) {
            wait.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS).close();
        }
    }

    @Test
    void waits_ofALockClientsOwnConnection_shareAStream() throws Exception {
        try (EtcdServer server = EtcdServer.startWith("--max-concurrent-streams=8")) {
            String uri = "etcd://" + server.hostsAndPorts();
            try (LockClient holder = LockClient.connect(uri, LockClientOptions.defaults());
                    LockClient waiter = LockClient.connect(uri, LockClientOptions.defaults())) {
                waitsLeaveOtherLocksAlone(server, holder, waiter);
            }
        }
    }

    @Test
    void waits_ofTheApplicationsClient_shareAStream_ifItIsTheRecommendedOne() throws Exception {
        try (EtcdServer server = EtcdServer.startWith("--max-concurrent-streams=8");
                Client etcd = etcd(server, EtcdLocks::recommended);
                Client own = etcd(server, builder -> builder)) {
            try (LockClient holder = EtcdLocks.builder(own).build();
                    LockClient waiter = EtcdLocks.builder(etcd).build()) {
                waitsLeaveOtherLocksAlone(server, holder, waiter);
            }
        }
    }

    @Test
    void waits_ofAnyOtherClient_leaveStreamsForOtherCalls() throws Exception {
        try (EtcdServer server = EtcdServer.startWith("--max-concurrent-streams=100");
                Client etcd = etcd(server, builder -> builder);
                Client own = etcd(server, builder -> builder)) {
            try (LockClient holder = EtcdLocks.builder(own).build();
                    LockClient waiter = EtcdLocks.builder(etcd).build()) {
                waitsLeaveOtherLocksAlone(server, holder, waiter);
            }
        }
    }

    /** More than the head of the queue; they are as many acquisitions on the server. */
    @Test
    void waitersForPermits_inOneProcess_areAllServed_andNoneOfTheHeldIsLost() throws Exception {
        try (EtcdServer server = EtcdServer.start();
                LockClient client = LockClient.connect("etcd://" + server.hostsAndPorts())) {
            AtomicInteger lost = new AtomicInteger();
            client.addListener(new LockListener() {
                @Override
                public void lost(String name, long token, Duration held, LossReason reason) {
                    lost.incrementAndGet();
                }
            });
            DistributedSemaphore semaphore = client.semaphore("api", 4);
            List<Permit> held = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                held.add(semaphore.acquire());
            }
            List<CompletableFuture<Void>> waits = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                waits.add(semaphore
                        .acquireAsync(1, PATIENCE.multipliedBy(3))
                        .thenAccept(Permit::close)
                        .toCompletableFuture());
            }
            await().atMost(PATIENCE).until(() -> server.calls("Txn") >= 204);
            assertThat(server.sum("etcd_debugging_mvcc_watcher_total", "")).isLessThanOrEqualTo(1);

            held.forEach(Permit::close);

            for (CompletableFuture<Void> wait : waits) {
                wait.get(PATIENCE.toMillis() * 3, TimeUnit.MILLISECONDS);
            }
            assertThat(lost).hasValue(0);
        }
    }
}
