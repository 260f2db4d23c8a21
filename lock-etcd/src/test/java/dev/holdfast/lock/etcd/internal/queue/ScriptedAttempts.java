package dev.holdfast.lock.etcd.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.internal.acquisition.ConditionalWrite;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.LeaseMember;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLeasePool;
import dev.holdfast.lock.etcd.internal.acquisition.TestAcquisitions;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.Deadline;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.spi.support.CallLimit;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.TxnRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

/** Attempts whose requests a test answers. */
abstract class ScriptedAttempts {
    /** Long, as an attempt on a lease of which a twentieth has passed sends more. */
    static final long LEASE = 300_000;

    static final ByteSequence OTHER = TestAcquisitions.create().key();

    final ScriptedEtcd etcd = new ScriptedEtcd();
    final EtcdCalls calls = etcd.calls();
    final List<LeaseMember> gone = new ArrayList<>();
    final SharedLeasePool leases = new SharedLeasePool(calls, (acquisition, detail) -> gone.add(acquisition));
    final List<EtcdAcquisition> forgotten = new ArrayList<>();
    final List<Grant> voided = new ArrayList<>();
    final EtcdAttempts attempts = new EtcdAttempts(
            calls,
            new QueueProtocol(TestAcquisitions.KEYS),
            leases,
            new ConditionalWrite(calls, TestAcquisitions.KEYS, leases),
            new ClientKeyPool(),
            new CallLimit(EtcdAttempts.MAX_CALLS),
            forgotten::add,
            voided::add);

    @AfterEach
    void close() {
        etcd.close();
    }

    CompletableFuture<AcquireResult> ask(EtcdAcquisition acquisition, long waitMillis, @Nullable Ticket ticket) {
        AcquireRequest request =
                new AcquireRequest(acquisition.id(), LEASE, waitMillis, true, ticket, 60_000, BackendDriver.IDENTITY);
        Deadline deadline = new Deadline(System.nanoTime(), 60_000);
        acquisition.beginAttempt(request, deadline.startNanos());
        return attempts.tryAcquire(acquisition, request, deadline, true);
    }

    CompletableFuture<AcquireResult> ask(EtcdAcquisition acquisition) {
        return ask(acquisition, 60_000, null);
    }

    void leaseIs(long id) {
        ScriptedEtcd.Request grant = etcd.next("grant");
        assertThat(grant.arguments().get(0)).isEqualTo(300L);
        grant.answers(ScriptedEtcd.granted(id, 300, 0));
    }

    static KeyValue keyOf(EtcdAcquisition acquisition, long created, long modified, long lease) {
        return ScriptedEtcd.entry(acquisition.key(), acquisition.value(0), created, modified, lease);
    }

    /** The write was carried out at that revision, and these are the keys up to it. */
    void written(long revision, KeyValue... line) {
        etcd.next("txn").answers(ScriptedEtcd.txn(true, revision, ScriptedEtcd.read(line)));
    }

    void refused(long revision, KeyValue... present) {
        etcd.next("txn").answers(ScriptedEtcd.txn(false, revision, ScriptedEtcd.read(), ScriptedEtcd.read(present)));
    }

    static KeyValue ahead(long created) {
        return ScriptedEtcd.entry(OTHER, ByteSequence.EMPTY, created, created, 99);
    }

    static long expected(TxnRequest txn) {
        return txn.getCompareList().stream()
                .filter(compare -> compare.getTarget() == Compare.CompareTarget.MOD)
                .mapToLong(Compare::getModRevision)
                .findFirst()
                .orElseThrow();
    }
}
