package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.Acquisition;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Txn;
import io.etcd.jetcd.kv.DeleteResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import java.util.ArrayList;
import java.util.List;

/**
 * The fair queue. Invariant: among the keys below a lock's name, the one with the lowest create revision holds the lock.
 * A create revision is unique and rises with every transaction, so it is also the fencing token.
 *
 * <p>Every attempt, the first and each later one, is the same transaction: put the own key, then read it, the first key
 * and the one before the own. Because it writes, it goes through Raft, and what it reads is never stale, unlike a read,
 * even a "linearizable" one, on a paused and resumed leader (etcd-io/etcd#20418). Putting again what is there keeps its
 * create revision, so a repeated attempt changes nothing; and a waiter whose key was lost with its lease gets a new one
 * at the end of the queue, never a grant on the strength of the old one (etcd-io/etcd#11456, #19597).
 *
 * <p>After the ideas of etcd's concurrency.Mutex (Go, client v3), with the predecessor in the same reply, and keys that
 * are unique to the acquisition, not to the lease, so that a repeated release cannot delete a later acquisition's key
 * (#22082).
 */
final class QueueProtocol implements EtcdProtocol {
    private static final GetOption OWN = GetOption.builder().withKeysOnly(true).build();
    private static final GetOption FIRST = GetOption.builder()
            .isPrefix(true)
            .withKeysOnly(true)
            .withSortField(GetOption.SortTarget.CREATE)
            .withSortOrder(GetOption.SortOrder.ASCEND)
            .withLimit(1)
            .build();
    private static final GetOption HOLDER = GetOption.builder()
            .isPrefix(true)
            .withSortField(GetOption.SortTarget.CREATE)
            .withSortOrder(GetOption.SortOrder.ASCEND)
            .withLimit(1)
            .build();
    private static final DeleteOption WITH_PREVIOUS =
            DeleteOption.builder().withPrevKV(true).build();

    private final EtcdKeys keys;

    QueueProtocol(EtcdKeys keys) {
        this.keys = keys;
    }

    @Override
    public ByteSequence key(Acquisition acquisition) {
        return keys.place(acquisition);
    }

    @Override
    public Txn attempt(Txn txn, EtcdPlace place, SharedLease lease) {
        ByteSequence queue = keys.queue(place.acquisition().name());
        ByteSequence tombstone = keys.tombstone(place.acquisition().owner(), lease.id());
        PutOption onLease = PutOption.builder().withLeaseId(lease.id()).build();
        return txn.If(new Cmp(tombstone, Cmp.Op.EQUAL, CmpTarget.createRevision(0)))
                .Then(
                        Op.put(place.key(), place.valueNow(), onLease),
                        Op.get(place.key(), OWN),
                        Op.get(queue, FIRST),
                        Op.get(queue, upTo(place.revision())));
    }

    /** The own key, if it is the newest, and the one before it; or the one before a known own key. */
    private static GetOption upTo(long ownRevision) {
        GetOption.Builder option = GetOption.builder()
                .isPrefix(true)
                .withKeysOnly(true)
                .withSortField(GetOption.SortTarget.CREATE)
                .withSortOrder(GetOption.SortOrder.DESCEND)
                .withLimit(2);
        return ownRevision == 0
                ? option.build()
                : option.withMaxCreateRevision(ownRevision).build();
    }

    @Override
    public Outcome outcome(EtcdPlace place, TxnResponse reply) {
        if (!reply.isSucceeded()) {
            return new Outcome.Ended();
        }
        KeyValue own = reply.getGetResponses().get(0).getKvs().get(0);
        KeyValue first = reply.getGetResponses().get(1).getKvs().get(0);
        place.seen(own.getCreateRevision());
        if (first.getKey().equals(own.getKey())) {
            return new Outcome.Held(own.getCreateRevision(), 0);
        }
        List<KeyValue> last = reply.getGetResponses().get(2).getKvs();
        boolean adjacent = last.size() == 2 && last.get(0).getKey().equals(own.getKey());
        KeyValue before = adjacent ? last.get(1) : first;
        return new Outcome.Queued(
                new EtcdTicket(place, before.getKey(), reply.getHeader().getRevision()));
    }

    @Override
    public Txn remove(Txn txn, EtcdPlace place, List<Op> rest) {
        List<Op> ops = new ArrayList<>(rest);
        ops.add(Op.delete(place.key(), WITH_PREVIOUS));
        return txn.Then(ops.toArray(new Op[0]));
    }

    @Override
    public boolean removed(TxnResponse reply, long revision) {
        for (DeleteResponse deleted : reply.getDeleteResponses()) {
            for (KeyValue previous : deleted.getPrevKvs()) {
                if (previous.getCreateRevision() == revision) {
                    return true;
                }
            }
        }
        return false;
    }

    @Override
    public ByteSequence holderKey(String name) {
        return keys.queue(name);
    }

    @Override
    public GetOption holderOption() {
        return HOLDER;
    }

    @Override
    public boolean queues() {
        return true;
    }
}
