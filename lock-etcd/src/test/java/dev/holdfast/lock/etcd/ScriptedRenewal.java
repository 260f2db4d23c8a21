package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Renewals whose requests a test answers. */
final class ScriptedRenewal implements AutoCloseable {
    static final long CREATED = 10;
    static final long LEASE = 20_000;
    static final String LOOK = "timeToLive";
    static final String KEEP_ALIVE = "keepAliveOnce";

    final ScriptedEtcd etcd = new ScriptedEtcd();
    final EtcdCalls calls = etcd.calls();
    /** Of whom it was said that its grant has ended. */
    final List<EtcdAcquisition> lost = new ArrayList<>();

    private final SharedLeases leases = new SharedLeases(calls, (acquisition, detail) -> {});
    private final EtcdRenewal renewal =
            new EtcdRenewal(calls, leases, new ConditionalWrite(calls, Places.KEYS, leases), lost::add);

    CompletableFuture<List<RenewResult>> renew(Grant... grants) {
        return renewWithin(60_000, grants);
    }

    CompletableFuture<List<RenewResult>> renewWithin(long timeoutMillis, Grant... grants) {
        return renewal.renew(List.of(grants), timeoutMillis);
    }

    static RenewResult only(CompletableFuture<List<RenewResult>> results) {
        List<RenewResult> all = BackendDriver.answer(results);
        assertThat(all).hasSize(1);
        return all.get(0);
    }

    static void isRenewed(RenewResult result) {
        assertThat(result).isEqualTo(new RenewResult.Renewed(LEASE));
    }

    /** The lease's keep-alive is acknowledged. */
    void confirmed() {
        etcd.next(KEEP_ALIVE).answers(ScriptedEtcd.kept(0));
        etcd.settle();
    }

    /** The look at a lease's keys has these. */
    void keysAre(ByteSequence... keys) {
        etcd.next(LOOK).answers(ScriptedEtcd.lives(30, keys));
    }

    @Override
    public void close() {
        etcd.close();
    }
}
