package dev.holdfast.lock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Txn;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The plain form: the lock is held while its one key exists, and the key's value names the owner. An attempt creates the
 * key or reads it; waiters leave nothing on the server and watch the key. The value is unique to the acquisition and
 * never rewritten, which makes a repeated attempt and a removal after an unknown outcome safe.
 */
final class SingleKeyProtocol implements EtcdProtocol {
    private final EtcdKeys keys;

    SingleKeyProtocol(EtcdKeys keys) {
        this.keys = keys;
    }

    @Override
    public ByteSequence key(String name, QueueSlots.Slot slot) {
        return keys.single(name);
    }

    @Override
    public Txn attempt(Txn txn, EtcdPlace place, SharedLease lease) {
        ByteSequence tombstone = keys.tombstone(place.acquisition().owner(), lease.id());
        PutOption onLease = PutOption.builder().withLeaseId(lease.id()).build();
        return txn.If(
                        new Cmp(place.key(), Cmp.Op.EQUAL, CmpTarget.createRevision(0)),
                        new Cmp(tombstone, Cmp.Op.EQUAL, CmpTarget.createRevision(0)))
                .Then(Op.put(place.key(), place.value(), onLease))
                .Else(Op.get(place.key(), GetOption.DEFAULT));
    }

    @Override
    public Outcome outcome(EtcdPlace place, TxnResponse reply) {
        long revision = reply.getHeader().getRevision();
        if (reply.isSucceeded()) {
            place.seen(revision);
            return new Outcome.Held(revision, 0);
        }
        List<KeyValue> found = reply.getGetResponses().get(0).getKvs();
        if (found.isEmpty()) {
            return new Outcome.Ended();
        }
        KeyValue present = found.get(0);
        if (present.getValue().equals(place.value())) {
            place.seen(present.getCreateRevision());
            return new Outcome.Held(present.getCreateRevision(), present.getLease());
        }
        return new Outcome.Queued(new EtcdTicket(place, place.key(), present.getCreateRevision(), revision));
    }

    @Override
    public CompletableFuture<Boolean> remove(EtcdCalls calls, EtcdPlace place, long revision, List<Op> rest) {
        List<Op> ops = new ArrayList<>(rest);
        ops.add(Op.delete(place.key(), DeleteOption.DEFAULT));
        Txn conditional = calls.txn()
                .If(new Cmp(place.key(), Cmp.Op.EQUAL, CmpTarget.value(place.value())))
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
    public GetOption holderOption() {
        return GetOption.DEFAULT;
    }

    @Override
    public boolean queues() {
        return false;
    }
}
