package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.MadeUpWatch;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.watch.WatchResponse;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Who looks after leases that fail: without a server. See {@link LeaseLivesTest}. */
final class SharedLeasePoolTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    private final MadeUpWatch etcd = new MadeUpWatch();
    private final SharedLeasePool leases = new SharedLeasePool(etcd.calls(), (acquisition, detail) -> {});

    @AfterEach
    void close() {
        etcd.close();
    }

    /** For example, a member pauses. The waiter makes no attempt in the meantime, and would lose its key. */
    @Test
    void renewalForAWaiterFails_isTriedAgain_untilTheLeaseIsGone() {
        SharedLease lease = new SharedLease(7, 1, LeaseRequestTime.now(), 0);
        var id = BackendDriver.newAcquisition("n");
        var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        var acquisition = new EtcdAcquisition(id, slot, KEYS.acquisitionKey(id, slot), BackendDriver.IDENTITY);
        acquisition.update(new KeyState(10, 10, 10, 0, lease));
        acquisition.keepWaiting();

        leases.keepAlive(lease);

        long startNanos = System.nanoTime();
        await().atMost(Duration.ofSeconds(60)).until(() -> {
            assertThat(etcd.runPlanned()).as("something is planned").isPositive();
            return System.nanoTime() - startNanos > 2 * lease.ttlNanos();
        });
        lease.end();
        await().atMost(Duration.ofSeconds(60)).until(() -> {
            etcd.runPlanned();
            return !lease.upkeep().get();
        });
    }

    /** Else the lease, and all that is on it, would end with the first failure, however well the server is afterwards. */
    @Test
    void renewalThatHasFailed_isNotSharedByTheNextOne() {
        SharedLease lease = new SharedLease(7, 30, LeaseRequestTime.now(), 0);
        CompletableFuture<Void> first = leases.renew(lease, 1);
        await().atMost(Duration.ofSeconds(60)).until(() -> {
            etcd.runPlanned();
            return first.isDone();
        });
        int before = etcd.requests.get();

        CompletableFuture<Void> next = leases.renew(lease, 60_000);

        assertThat(etcd.requests).as("requests, the second one's among them").hasValue(before + 1);
        assertThat(leases.renew(lease, 60_000)).as("of two at once").isSameAs(next);
        assertThat(etcd.requests).hasValue(before + 1);
    }

    /** One connection's answer may overtake another's. */
    @Test
    void leaseOfAnOlderLeader_isNotUsed_thoughALateAnswerBearsItsTerm() {
        EtcdCalls calls = etcd.calls();
        SharedLeasePool ours = new SharedLeasePool(calls, (acquisition, detail) -> {});
        SharedLease lease = new SharedLease(7, 30, LeaseRequestTime.now(), 4);
        calls.noteTerm(ofTerm(4));
        assertThat(ours.isGood(lease)).isTrue();

        calls.noteTerm(ofTerm(5));
        calls.noteTerm(ofTerm(4));

        assertThat(ours.isGood(lease)).isFalse();
    }

    private static WatchResponse ofTerm(long term) {
        return new WatchResponse(io.etcd.jetcd.api.WatchResponse.newBuilder()
                .setHeader(ResponseHeader.newBuilder().setRaftTerm(term))
                .build());
    }
}
