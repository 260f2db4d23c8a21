package dev.holdfast.lock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Txn;
import io.etcd.jetcd.kv.DeleteResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The fair queue. Invariant: among the keys of a lock's name, the one with the lowest create revision holds the lock. A
 * create revision is unique and rises with every transaction, so it is also the fencing token.
 *
 * <p>An attempt is one {@link ConditionalWrite}, which reads the own key and the one before it by the same transaction.
 * Writing again what is there keeps its create revision, so a repeated attempt changes no order; and a waiter whose key was
 * lost with its lease gets a new one at the end of the queue, never a grant on the strength of the old one
 * (etcd-io/etcd#11456, #19597). Between its attempts a waiter only reads ({@link WaiterLook}).
 *
 * <p>After the ideas of etcd's concurrency.Mutex (Go, client v3), with the predecessor in the same reply. Keys are used
 * again by the same client ({@link QueueSlots}); yet a late or repeated release deletes no later acquisition's key
 * (#22082): a key is deleted either only if it bears the acquisition's own value, or, which costs etcd less, whatever it
 * bears, and then no other acquisition gets the key before that deletion has been answered.
 */
final class QueueProtocol implements EtcdProtocol {
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
    public ByteSequence key(String name, QueueSlots.Slot slot) {
        return keys.place(name, slot);
    }

    @Override
    public List<Op> alsoRead(EtcdAcquisition place, EtcdAcquisition.Write write) {
        return List.of(Op.get(keys.queue(place.acquisition().name()), upTo(write.created())));
    }

    /** The own key and the one before it: a new one is the newest, an older one has a known revision. */
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
    public Outcome outcome(EtcdAcquisition place, ConditionalWrite.Result result) {
        if (result instanceof ConditionalWrite.Result.Written written) {
            return queued(place, written);
        }
        if (result instanceof ConditionalWrite.Result.Foreign foreign) {
            return new Outcome.Taken(foreign.present());
        }
        return result instanceof ConditionalWrite.Result.Ended ? new Outcome.Ended() : new Outcome.Changed();
    }

    private static Outcome queued(EtcdAcquisition place, ConditionalWrite.Result.Written written) {
        List<KeyValue> last = written.reply().getGetResponses().get(0).getKvs();
        if (last.size() == 1) {
            return new Outcome.Held(written.created());
        }
        KeyValue before = last.get(1);
        return new Outcome.Queued(new EtcdTicket(
                place,
                before.getKey(),
                before.getCreateRevision(),
                written.reply().getHeader().getRevision()));
    }

    @Override
    public CompletableFuture<Boolean> remove(EtcdCalls calls, EtcdAcquisition place, long revision, List<Op> rest) {
        return revision != 0 && rest.isEmpty() && place.mayDelete()
                ? delete(calls, place, revision)
                : deleteOwn(calls, place, revision, rest);
    }

    /** Of a lock that was granted. jetcd does not send a deletion again but if etcd has refused it. */
    private static CompletableFuture<Boolean> delete(EtcdCalls calls, EtcdAcquisition place, long revision) {
        return calls.delete(place.key(), WITH_PREVIOUS).thenApply(deleted -> {
            place.deleted();
            return isThere(deleted, revision);
        });
    }

    private static CompletableFuture<Boolean> deleteOwn(
            EtcdCalls calls, EtcdAcquisition place, long revision, List<Op> rest) {
        List<Op> ops = new ArrayList<>(rest);
        ops.add(Op.delete(place.key(), WITH_PREVIOUS));
        Txn conditional = calls.txn()
                .If(new Cmp(place.key(), Cmp.Op.EQUAL, CmpTarget.value(place.value())))
                .Then(ops.toArray(new Op[0]));
        return (rest.isEmpty() ? conditional : conditional.Else(rest.toArray(new Op[0])))
                .commit()
                .thenApply(
                        reply -> reply.getDeleteResponses().stream().anyMatch(deleted -> isThere(deleted, revision)));
    }

    private static boolean isThere(DeleteResponse deleted, long revision) {
        return deleted.getPrevKvs().stream().anyMatch(previous -> previous.getCreateRevision() == revision);
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
    public ByteSequence rangeOf(String encodedPrefix) {
        return EtcdKeys.bytes(keys.prefix() + "~queue/" + encodedPrefix);
    }

    @Override
    public Optional<String> nameOf(String key) {
        int end = key.lastIndexOf('/');
        int start = key.lastIndexOf('/', end - 1);
        return start < 0 ? Optional.empty() : Optional.of(key.substring(start + 1, end));
    }

    @Override
    public boolean queues() {
        return true;
    }
}
