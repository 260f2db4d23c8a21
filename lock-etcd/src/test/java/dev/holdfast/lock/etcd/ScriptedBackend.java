package dev.holdfast.lock.etcd;

import dev.holdfast.lock.etcd.internal.acquisition.EtcdTicket;
import dev.holdfast.lock.etcd.internal.acquisition.TestAcquisitions;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.api.KeyValue;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;

/** A backend of a client whose requests a test answers. */
public abstract class ScriptedBackend {
    public static final long LEASE = 300_000;
    public static final KeyValue AHEAD =
            ScriptedEtcd.entry(TestAcquisitions.create().key(), ByteSequence.EMPTY, 5, 5, 99);

    public final ScriptedEtcd etcd = new ScriptedEtcd();
    public final AtomicReference<Runnable> afterClose = new AtomicReference<>(() -> {});
    public final LockBackend backend = backend(EtcdMode.QUEUE);

    LockBackend backend(EtcdMode mode) {
        Runnable end = () -> Objects.requireNonNull(afterClose.get()).run();
        return new EtcdLockBackend(new EtcdConnection(etcd.client(), end), "b/", mode, Duration.ofMinutes(1));
    }

    @AfterEach
    void close() {
        etcd.whenSent = revocation -> revocation.answers("revoked");
        backend.close();
        etcd.close();
    }

    public static BackendDriver driver(LockBackend backend) {
        return BackendDriver.of(backend, TestAcquisitions.NAME, LEASE);
    }

    void leaseIs(long id) {
        etcd.next("grant").answers(ScriptedEtcd.granted(id, 300, 0));
    }

    /** The entry of the write, at that time. */
    static KeyValue put(ScriptedEtcd.Request write, long revision) {
        var put = write.txn().getSuccess(0).getRequestPut();
        return KeyValue.newBuilder()
                .setKey(put.getKey())
                .setValue(put.getValue())
                .setLease(put.getLease())
                .setCreateRevision(revision)
                .setModRevision(revision)
                .build();
    }

    public void written(long revision, KeyValue... ahead) {
        ScriptedEtcd.Request write = etcd.nextPut();
        KeyValue[] line = new KeyValue[1 + ahead.length];
        line[0] = put(write, revision);
        System.arraycopy(ahead, 0, line, 1, ahead.length);
        write.answers(ScriptedEtcd.txn(true, revision, ScriptedEtcd.read(line)));
    }

    public Grant granted(BackendDriver driver, long lease, long revision) {
        CompletionStage<AcquireResult> result = driver.send(0);
        leaseIs(lease);
        written(revision);
        return driver.granted(BackendDriver.answer(result));
    }

    public EtcdTicket queued(BackendDriver driver, long revision) {
        CompletionStage<AcquireResult> result = driver.send(60_000);
        written(revision, AHEAD);
        AcquireResult.Busy busy = (AcquireResult.Busy) BackendDriver.answer(result);
        return (EtcdTicket) Objects.requireNonNull(busy.ticket());
    }
}
