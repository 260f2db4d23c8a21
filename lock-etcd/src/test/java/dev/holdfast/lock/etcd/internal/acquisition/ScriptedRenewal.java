package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.etcd.internal.renewal.EtcdRenewal;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Renewals whose requests a test answers. */
public final class ScriptedRenewal implements AutoCloseable {
    public static final long CREATED = 10;
    public static final long LEASE = 20_000;
    public static final String LOOK = "timeToLive";
    public static final String KEEP_ALIVE = "keepAliveOnce";

    public final ScriptedEtcd etcd = new ScriptedEtcd();
    public final EtcdCalls calls = etcd.calls();
    /** Of whom it was said that its grant has ended. */
    public final List<EtcdAcquisition> lost = new ArrayList<>();

    private final SharedLeasePool leases = new SharedLeasePool(calls, (acquisition, detail) -> {});
    private final EtcdRenewal renewal =
            new EtcdRenewal(calls, leases, new ConditionalWrite(calls, TestAcquisitions.KEYS, leases), lost::add);

    public CompletableFuture<List<RenewResult>> renew(Grant... grants) {
        return renewWithin(60_000, grants);
    }

    public CompletableFuture<List<RenewResult>> renewWithin(long timeoutMillis, Grant... grants) {
        return renewal.renew(List.of(grants), timeoutMillis);
    }

    public static RenewResult only(CompletableFuture<List<RenewResult>> results) {
        List<RenewResult> all = BackendDriver.answer(results);
        assertThat(all).hasSize(1);
        return all.get(0);
    }

    public static void isRenewed(RenewResult result) {
        assertThat(result).isEqualTo(new RenewResult.Renewed(LEASE));
    }

    /** The lease's keep-alive is acknowledged. */
    public void confirmed() {
        etcd.next(KEEP_ALIVE).answers(ScriptedEtcd.kept(0));
        etcd.settle();
    }

    /** The look at a lease's keys has these. */
    public void keysAre(ByteSequence... keys) {
        etcd.next(LOOK).answers(ScriptedEtcd.lives(30, keys));
    }

    @Override
    public void close() {
        etcd.close();
    }
}
