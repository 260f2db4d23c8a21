package dev.holdfast.lock.etcd.internal.queue;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.acquisition.AttemptReply;
import dev.holdfast.lock.etcd.internal.acquisition.ConditionalWrite;
import dev.holdfast.lock.etcd.internal.acquisition.DirectGrant;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.KeyWrite;
import dev.holdfast.lock.etcd.internal.acquisition.PermitTicket;
import dev.holdfast.lock.etcd.internal.acquisition.PredecessorTicket;
import dev.holdfast.lock.etcd.internal.acquisition.QueueHeadTicket;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.permit.PermitLimits;
import dev.holdfast.lock.etcd.internal.permit.PermitLine;
import dev.holdfast.lock.etcd.internal.permit.SlotPlan;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Txn;
import io.etcd.jetcd.kv.DeleteResponse;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The fair queue. Invariant: among the keys of a lock's name, the one with the lowest create revision holds the lock. A
 * share holds if only shares are ahead, and permits hold if those ahead leave room ({@link PermitLine}). A create
 * revision is unique and rises with every transaction, so it is also the fencing token: the tokens of grants that
 * exclude each other are in the order of the grants. Of several shares that wait for the same lock, a share with a
 * lower token may detect its turn later.
 *
 * <p>An attempt is one {@link ConditionalWrite}, which reads the own key and the keys ahead in the same transaction.
 * Repeating a write keeps the create revision, so a repeated attempt changes no order. A waiter whose key expired with
 * its lease gets a new key at the end of the queue, never a grant based on the old one (etcd-io/etcd#11456, #19597).
 * Between attempts a waiter only reads ({@link WaiterPoll}). A waiter for a lock with few keys ahead watches them all
 * and needs no further attempt: it detects when it is first ({@link QueueHeadTicket}, {@link DirectGrant}).
 *
 * <p>Based on etcd's concurrency.Mutex (Go, client v3), with the predecessor in the same reply. A client reuses its
 * keys ({@link ClientKeyPool}), but a late or repeated release deletes no later acquisition's key (#22082). A key is
 * deleted on condition that it has the acquisition's own value. Or it is deleted unconditionally, which costs etcd
 * less, and then no other acquisition gets the key before that deletion was answered.
 */
public final class QueueProtocol implements EtcdProtocol {
    private static final BackendInfo INFO = BackendInfo.named("etcd")
            .fifo(true)
            .minLeaseMillis(2_000)
            .pollMinMillis(5_000)
            .pollMaxMillis(5_000)
            .listing(true)
            .demands(EnumSet.allOf(Demand.Kind.class))
            .handsOver(true)
            .build();
    private static final GetOption KEY_ONLY =
            GetOption.builder().withKeysOnly(true).build();
    private static final DeleteOption WITH_PREVIOUS =
            DeleteOption.builder().withPrevKV(true).build();

    private final EtcdKeys keys;
    private final PermitLimits limits;
    private final LongQueues longQueues = new LongQueues();

    public QueueProtocol(EtcdKeys keys) {
        this.keys = keys;
        this.limits = new PermitLimits(keys);
    }

    @Override
    public BackendInfo info() {
        return INFO;
    }

    @Override
    public ByteSequence key(AcquisitionId acquisition, ClientKeyPool.Slot slot) {
        return keys.acquisitionKey(acquisition, slot);
    }

    @Override
    public List<Op> attempt(EtcdAcquisition acquisition, KeyWrite write) {
        String name = acquisition.id().name();
        if (acquisition.id().demand() instanceof Demand.Permits wanted) {
            SlotPlan plan = acquisition.takePlan();
            List<Op> ops = new ArrayList<>(plan == null ? List.of() : plan.ahead());
            ops.add(acquisition.put(write, plan));
            ops.add(limits.setIfNone(name, wanted.limit()));
            ops.addAll(readPermits(acquisition, wanted, plan != null));
            return ops;
        }
        // For a lock: its own key, up to MAX_AHEAD keys ahead, and one more key that shows whether the queue
        // is longer.
        GetOption ahead = isShare(acquisition)
                ? upTo(write.created(), keys.sharesStart(name), 1)
                : upTo(write.created(), keys.queueEnd(name), 2 + QueueHeadTicket.MAX_AHEAD);
        return List.of(acquisition.put(write, null), Op.get(keys.queue(name), ahead));
    }

    /** Only for a long queue of a lock or a share. A stale answer makes a lock look busy that has just become free. */
    @Override
    public @Nullable CompletableFuture<Boolean> isBusy(EtcdCalls calls, AcquisitionId acquisition) {
        ByteSequence ahead =
                acquisition.demand() instanceof Demand.Permits ? null : longQueues.keyAhead(acquisition.name());
        return ahead == null
                ? null
                : calls.get(ahead, KEY_ONLY).thenApply(reply -> !reply.getKvs().isEmpty());
    }

    /** The head of the queue and the limit; or the whole queue, if its head was not enough. */
    private List<Op> readPermits(EtcdAcquisition acquisition, Demand.Permits wanted, boolean changesSlot) {
        String name = acquisition.id().name();
        if (acquisition.readsWholeQueue()) {
            return List.of(Op.get(keys.queue(name), PermitLine.wholeQueue()));
        }
        List<Op> ops = new ArrayList<>(3);
        ops.add(Op.get(keys.queue(name), PermitLine.head(keys.queueEnd(name), wanted.limit())));
        ops.add(Op.get(keys.limits(name).get(0), range(keys.limitsEnd(name))));
        if (changesSlot) {
            ops.add(Op.get(acquisition.key(), GetOption.DEFAULT)); // its slot counts, even if it is not at the head
        }
        return ops;
    }

    private static GetOption range(ByteSequence end) {
        return GetOption.builder().withRange(end).build();
    }

    private static boolean isShare(EtcdAcquisition acquisition) {
        return acquisition.id().demand() instanceof Demand.Shared;
    }

    /** The last keys that are not behind the own key, which is the newest key or has a known revision. */
    private static GetOption upTo(long ownRevision, ByteSequence end, long limit) {
        GetOption.Builder option = GetOption.builder()
                .withRange(end)
                .withKeysOnly(true)
                .withSortField(GetOption.SortTarget.CREATE)
                .withSortOrder(GetOption.SortOrder.DESCEND)
                .withLimit(limit);
        return ownRevision == 0
                ? option.build()
                : option.withMaxCreateRevision(ownRevision).build();
    }

    @Override
    public AttemptReply outcome(EtcdAcquisition acquisition, ConditionalWrite.Result result) {
        if (result instanceof ConditionalWrite.Result.Written written) {
            return queued(acquisition, written);
        }
        if (result instanceof ConditionalWrite.Result.Foreign foreign) {
            return new AttemptReply.Taken(foreign.present());
        }
        return result instanceof ConditionalWrite.Result.Ended ? new AttemptReply.Ended() : new AttemptReply.Changed();
    }

    private AttemptReply queued(EtcdAcquisition acquisition, ConditionalWrite.Result.Written written) {
        List<KeyValue> read = written.reply().getGetResponses().get(0).getKvs();
        long at = written.reply().getHeader().getRevision();
        if (acquisition.id().demand() instanceof Demand.Permits) {
            return permits(acquisition, line(written.reply().getGetResponses(), at));
        }
        int own = isShare(acquisition)
                ? 0
                : 1; // whether the own key was read: then it is first in the reply, as the newest
        if (read.size() <= own) {
            return new AttemptReply.Held(written.created(), 0);
        }
        KeyValue before = read.get(own);
        longQueues.read(
                acquisition.id().name(),
                written.reply().getGetResponses().get(0).getCount(),
                before.getKey());
        if (own == 1 && read.size() <= 1 + QueueHeadTicket.MAX_AHEAD) {
            QueueHeadTicket line = QueueHeadTicket.of(acquisition, keys);
            return line.update(acquisition.key(), written.created(), read, at)
                    ? new AttemptReply.Changed()
                    : new AttemptReply.Queued(line);
        }
        return new AttemptReply.Queued(
                new PredecessorTicket(acquisition, before.getKey(), before.getCreateRevision(), at));
    }

    /** The result of {@link #readPermits}; a single answer is the whole queue. */
    private static PermitLine line(List<GetResponse> read, long at) {
        GetResponse queue = read.get(0);
        if (read.size() == 1) {
            return new PermitLine(queue.getKvs(), at);
        }
        List<KeyValue> keys = new ArrayList<>(queue.getKvs());
        keys.addAll(read.get(1).getKvs());
        return new PermitLine(keys, at, queue.getCount() > queue.getKvs().size());
    }

    private AttemptReply permits(EtcdAcquisition acquisition, PermitLine line) {
        if (!line.isEnough()) {
            acquisition.readWholeQueue();
            return new AttemptReply.Changed();
        }
        PermitLine.Turn turn = line.turnOf(acquisition);
        if (turn instanceof PermitLine.Turn.OtherLimit other) {
            return new AttemptReply.OtherLimit(other.limit());
        }
        if (turn instanceof PermitLine.Turn.None) {
            PermitTicket ticket = PermitTicket.of(acquisition, keys, line);
            return ticket.update(line) ? new AttemptReply.Changed() : new AttemptReply.Queued(ticket);
        }
        if (turn instanceof PermitLine.Turn.Held held) {
            return new AttemptReply.Held(acquisition.seen().created(), held.slot());
        }
        if (turn instanceof PermitLine.Turn.Room room) {
            acquisition.plan(room.plan());
        }
        return new AttemptReply.Changed();
    }

    @Override
    public CompletableFuture<Boolean> remove(
            EtcdCalls calls, EtcdAcquisition acquisition, long revision, List<Op> rest) {
        return revision != 0 && rest.isEmpty() && acquisition.ownKey().beginDeletion()
                ? delete(calls, acquisition, revision)
                : deleteOwn(calls, acquisition, revision, rest);
    }

    /**
     * Deletes the key unconditionally, after a grant. jetcd repeats a deletion only if etcd refused it. A deletion
     * without an answer stays counted, so that no other acquisition gets the key.
     */
    private static CompletableFuture<Boolean> delete(EtcdCalls calls, EtcdAcquisition acquisition, long revision) {
        return calls.delete(acquisition.key(), WITH_PREVIOUS).thenApply(deleted -> {
            acquisition.ownKey().endDeletion();
            return isThere(deleted, revision);
        });
    }

    private static CompletableFuture<Boolean> deleteOwn(
            EtcdCalls calls, EtcdAcquisition acquisition, long revision, List<Op> rest) {
        List<Op> ops = new ArrayList<>(rest);
        ops.add(Op.delete(acquisition.key(), WITH_PREVIOUS));
        Txn conditional = calls.txn()
                .If(acquisition.ownKey().ownership().toArray(new Cmp[0]))
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
    public GetOption holderOption(String name, long most) {
        return GetOption.builder()
                .withRange(keys.queueEnd(name))
                .withSortField(GetOption.SortTarget.CREATE)
                .withSortOrder(GetOption.SortOrder.ASCEND)
                .withLimit(most)
                .build();
    }

    @Override
    public ByteSequence rangeOf(String encodedPrefix) {
        return EtcdKeys.bytes(keys.prefix() + "~queue/" + encodedPrefix);
    }

    @Override
    public Optional<String> nameOf(String key) {
        int end = key.lastIndexOf('/');
        if (EtcdKeys.isLimit(key.substring(end + 1))) {
            return Optional.empty();
        }
        int start = key.lastIndexOf('/', end - 1);
        return start < 0 ? Optional.empty() : Optional.of(key.substring(start + 1, end));
    }

    @Override
    public boolean queues() {
        return true;
    }

    @Override
    public CompletableFuture<Integer> changeLimit(EtcdCalls calls, String name, int from, int to) {
        return limits.change(calls, name, from, to);
    }
}
