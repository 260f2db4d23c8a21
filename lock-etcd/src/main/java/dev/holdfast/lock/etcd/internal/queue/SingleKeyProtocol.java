package dev.holdfast.lock.etcd.internal.queue;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.etcd.internal.acquisition.AttemptReply;
import dev.holdfast.lock.etcd.internal.acquisition.ConditionalWrite;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.KeyWrite;
import dev.holdfast.lock.etcd.internal.acquisition.PredecessorTicket;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Txn;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The plain form: the lock is held while its one key exists, and the key's value identifies the owner. An attempt is a
 * {@link ConditionalWrite} that creates the key or returns it. Waiters leave nothing on the server and watch the key.
 * The value is unique to the acquisition, which makes a removal after an unknown outcome safe.
 */
public final class SingleKeyProtocol implements EtcdProtocol {
    private static final BackendInfo INFO = BackendInfo.named("etcd")
            .fifo(false)
            .minLeaseMillis(2_000)
            .pollMinMillis(5_000)
            .pollMaxMillis(5_000)
            .listing(true)
            .demands(EnumSet.of(Demand.Kind.EXCLUSIVE))
            .handsOver(false)
            .build();

    private final EtcdKeys keys;

    public SingleKeyProtocol(EtcdKeys keys) {
        this.keys = keys;
    }

    @Override
    public BackendInfo info() {
        return INFO;
    }

    @Override
    public ByteSequence key(AcquisitionId acquisition, ClientKeyPool.Slot slot) {
        return keys.single(acquisition.name());
    }

    @Override
    public List<Op> attempt(EtcdAcquisition acquisition, KeyWrite write) {
        return List.of(acquisition.put(write, null));
    }

    @Override
    public AttemptReply outcome(EtcdAcquisition acquisition, ConditionalWrite.Result result) {
        if (result instanceof ConditionalWrite.Result.Written written) {
            return new AttemptReply.Held(written.created(), 0);
        }
        if (result instanceof ConditionalWrite.Result.Foreign foreign) {
            long created = foreign.present().getCreateRevision();
            return new AttemptReply.Queued(
                    new PredecessorTicket(acquisition, acquisition.key(), created, foreign.at()));
        }
        return result instanceof ConditionalWrite.Result.Ended ? new AttemptReply.Ended() : new AttemptReply.Changed();
    }

    @Override
    public CompletableFuture<Boolean> remove(
            EtcdCalls calls, EtcdAcquisition acquisition, long revision, List<Op> rest) {
        List<Op> ops = new ArrayList<>(rest);
        ops.add(Op.delete(acquisition.key(), DeleteOption.DEFAULT));
        Txn conditional = calls.txn()
                .If(new Cmp(acquisition.key(), Cmp.Op.EQUAL, CmpTarget.value(acquisition.value(0))))
                .Then(ops.toArray(new Op[0]));
        return (rest.isEmpty() ? conditional : conditional.Else(rest.toArray(new Op[0])))
                .commit()
                .thenApply(TxnResponse::isSucceeded);
    }

    @Override
    public ByteSequence holderKey(String name) {
        return keys.single(name);
    }

    @Override
    public GetOption holderOption(String name, long most) {
        return GetOption.DEFAULT;
    }

    @Override
    public ByteSequence rangeOf(String encodedPrefix) {
        return EtcdKeys.bytes(keys.prefix() + encodedPrefix);
    }

    /** The same range contains keys of longer prefixes, of queues and of tombstones. */
    @Override
    public Optional<String> nameOf(String key) {
        int start = key.lastIndexOf(keys.prefix());
        String name = start < 0 ? "" : key.substring(start + keys.prefix().length());
        return name.isEmpty() || name.indexOf('/') >= 0 || name.indexOf('~') >= 0
                ? Optional.empty()
                : Optional.of(name);
    }

    @Override
    public boolean queues() {
        return false;
    }

    @Override
    public CompletableFuture<Integer> changeLimit(EtcdCalls calls, String name, int from, int to) {
        return CompletableFuture.failedFuture(
                new LockConfigurationException("a single key has no permits; use the mode queue"));
    }
}
