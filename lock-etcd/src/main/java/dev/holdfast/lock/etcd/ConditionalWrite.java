package dev.holdfast.lock.etcd;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.FailureTranslator;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * The one way in which a key of ours is written, be it an attempt, the confirmation of a turn or a move to another lease:
 * <i>if the key's last modification is the one that this acquisition has seen (0: there is no key), and no tombstone of it
 * is on that lease, put the key on the lease; else tell how the key is.</i>
 *
 * <p>A request can be executed at any time after it was sent: a connection stalls, a member pauses, a proxy keeps it; etcd
 * also executes transactions whose call was cancelled once their bytes arrive. So nothing may depend on when, or whether, a
 * request without an answer is executed. What is written is compared and swapped on the <i>mod</i> revision, which rises
 * with every write and is never used twice; the create revision, which stays, would let a late request move the key back
 * to a lease that nobody renews any more.
 *
 * <ol>
 *   <li><b>Of all writes that expect one revision, one is executed at most</b>, since it makes a new one. A repeated
 *       request changes nothing.
 *   <li><b>An acknowledged write ends all that were sent before it</b>: they expect older revisions, which do not come
 *       back. Its own revision is new, so nothing on its way can expect it. A grant rests on an acknowledged write alone,
 *       never on what a read or a refusal told, and so on the lease of that write.
 *   <li><b>What was sent since and has no answer</b> expects the present revision: the key is on the lease of the last
 *       acknowledged write, or on that of one of those. {@link EtcdAcquisition#mayBeOn} knows them all; all are renewed, and a
 *       holder is promised no more than the one that ends first. The next acknowledged write settles it (2), and one that is
 *       refused tells where the key is, which settles it too: that revision is one that nobody has expected yet.
 *   <li><b>Creation</b> expects no key, a state that does come back. While the acquisition goes on, its own next write
 *       meets whatever came late, and a refusal makes it look again. When it ends, {@link EtcdRemoval} leaves a tombstone on
 *       each lease for which a creation is open: it came before and is deleted, or comes later and is refused, by the
 *       tombstone or, after the lease's end, by etcd, which puts no key on a lease that is not there.
 *   <li><b>Others write the slot</b> in a key of permits ({@link PermitSlots}): they expect the mod revision, too, and leave the key on its
 *       lease. So that is one more write of which at most one is executed; ours is refused then, and repeated.
 *   <li><b>Removal</b> while the acquisition goes on expects the revision seen, too. When it ends, the key is deleted by its
 *       value, which is unique to the acquisition, or whatever it holds, and then its number is never used again unless
 *       that deletion was answered ({@link QueueSlots}). Moves cannot come after that: they expect a key.
 *   <li><b>Lost answers</b> cost one more request each: it is refused, tells how the key is, and is repeated. Answers that
 *       come late are used by their revision: older news never replaces newer ({@link EtcdAcquisition#saw}).
 * </ol>
 *
 * The same holds for {@link EtcdMode#SINGLE_KEY}, where the acquisitions' creations compete for one key.
 *
 * <p>The write goes through Raft, and what it reads is never stale, unlike a read, even a "linearizable" one, on a paused
 * and resumed leader (etcd-io/etcd#20418). See also etcd-io/etcd#11456, #11457 and jepsen.io/analyses/etcd-3.4.3.
 */
record ConditionalWrite(EtcdCalls calls, EtcdKeys keys, SharedLeases leases) {
    private static final GetOption KEY_ONLY =
            GetOption.builder().withKeysOnly(true).build();

    /** What an acknowledged or refused write tells. */
    sealed interface Result {
        /**
         * The key is on the lease.
         *
         * @param created its create revision
         * @param reply with what else was read
         */
        record Written(long created, TxnResponse reply) implements Result {}

        /** The key was not as expected; the place knows how it is. */
        record Changed() implements Result {}

        /**
         * The key has another acquisition's value.
         *
         * @param present how it is
         * @param at the store's revision at that time
         */
        record Foreign(KeyValue present, long at) implements Result {}

        /** A tombstone was there: the acquisition has ended. */
        record Ended() implements Result {}
    }

    /**
     * Sends one; the result has no time limit.
     *
     * @param ops makes the transaction, which puts the key by {@link EtcdAcquisition#put}
     */
    CompletableFuture<Result> send(EtcdAcquisition acquisition, SharedLease lease, Function<KeyWrite, List<Op>> ops) {
        return send(acquisition, acquisition.beginWrite(lease), ops);
    }

    /**
     * The same for an attempt, which moves no key that is held: it may have been handed the lock a moment ago, for as long as the
     * present lease lasts. A hand-over from now on counts with that write.
     */
    CompletableFuture<Result> sendAttempt(
            EtcdAcquisition acquisition, SharedLease lease, Function<KeyWrite, List<Op>> ops) {
        KeyWrite write = acquisition.beginWrite(lease);
        if (acquisition.isHeld() && acquisition.lease() != null && acquisition.lease() != lease) {
            acquisition.endWrite(write);
            return CompletableFuture.completedFuture(new Result.Changed());
        }
        return send(acquisition, write, ops);
    }

    private CompletableFuture<Result> send(
            EtcdAcquisition acquisition, KeyWrite write, Function<KeyWrite, List<Op>> ops) {
        SharedLease lease = write.lease();
        if (acquisition.isEnding()) {
            acquisition.endWrite(write);
            return CompletableFuture.completedFuture(new Result.Ended());
        }
        ByteSequence tombstone = keys.tombstone(acquisition.id().owner(), lease.id());
        var call = EtcdCalls.guarded(() -> calls.txn()
                .If(
                        new Cmp(tombstone, Cmp.Op.EQUAL, CmpTarget.createRevision(0)),
                        new Cmp(acquisition.key(), Cmp.Op.EQUAL, CmpTarget.modRevision(write.expected())))
                .Then(ops.apply(write).toArray(new Op[0]))
                .Else(Op.get(tombstone, KEY_ONLY), Op.get(acquisition.key(), GetOption.DEFAULT))
                .commit());
        return call.handle((reply, failure) -> {
                    if (failure != null) {
                        if (EtcdFailures.isRefusal(failure)) {
                            acquisition.endWrite(write);
                        }
                        return CompletableFuture.<Result>failedFuture(FailureTranslator.unwrap(failure));
                    }
                    calls.noteTerm(reply);
                    Result result = result(acquisition, write, reply);
                    acquisition.endWrite(write);
                    return CompletableFuture.completedFuture(result);
                })
                .thenCompose(result -> result);
    }

    private Result result(EtcdAcquisition acquisition, KeyWrite write, TxnResponse reply) {
        long at = reply.getHeader().getRevision();
        if (reply.isSucceeded()) {
            long created = write.expected() == 0 ? at : write.created();
            acquisition.update(new KeyState(at, created, at, slotBehind(acquisition, write, reply), write.lease()));
            return new Result.Written(created, reply);
        }
        List<KeyValue> found = reply.getGetResponses().get(1).getKvs();
        if (reply.getGetResponses().get(0).getCount() > 0) {
            return new Result.Ended();
        }
        if (found.isEmpty()) {
            acquisition.update(KeyState.notThere(at));
            return new Result.Changed();
        }
        KeyValue present = found.get(0);
        if (!acquisition.owns(present)) {
            acquisition.update(KeyState.notThere(at));
            return new Result.Foreign(present, at);
        }
        acquisition.update(stateOf(present, at));
        return new Result.Changed();
    }

    /** A write with a plan reads the key again; any other leaves the slot as it was. */
    private static int slotBehind(EtcdAcquisition acquisition, KeyWrite write, TxnResponse reply) {
        return reply.getGetResponses().stream()
                .flatMap(read -> read.getKvs().stream())
                .filter(acquisition::owns)
                .findFirst()
                .map(key -> EtcdValue.entry(key).slot())
                .orElse(write.slot());
    }

    private KeyState stateOf(KeyValue present, long at) {
        return new KeyState(
                at,
                present.getCreateRevision(),
                present.getModRevision(),
                EtcdValue.entry(present).slot(),
                leases.byId(present.getLease()).orElse(null));
    }

    /**
     * Deletes the key if it is as last seen, or if it was not made anew and somebody has written its slot since. Completes with
     * whether it was; true also if it is known already that it is not there.
     */
    CompletableFuture<Boolean> removeAsSeen(EtcdAcquisition acquisition) {
        KeyState seen = acquisition.seen();
        if (seen.modified() == 0) {
            return CompletableFuture.completedFuture(true);
        }
        return EtcdCalls.guarded(() -> calls.txn()
                        .If(new Cmp(acquisition.key(), Cmp.Op.EQUAL, CmpTarget.modRevision(seen.modified())))
                        .Then(Op.delete(acquisition.key(), DeleteOption.DEFAULT))
                        .Else(Op.get(acquisition.key(), GetOption.DEFAULT))
                        .commit())
                .thenCompose(reply -> {
                    calls.noteTerm(reply);
                    long at = reply.getHeader().getRevision();
                    if (reply.isSucceeded()) {
                        acquisition.update(KeyState.notThere(at));
                        return CompletableFuture.completedFuture(true);
                    }
                    List<KeyValue> found = reply.getGetResponses().get(0).getKvs();
                    boolean same = !found.isEmpty() && found.get(0).getCreateRevision() == seen.created();
                    if (!same || !(acquisition.id().demand() instanceof Demand.Permits)) {
                        return CompletableFuture.completedFuture(false);
                    }
                    acquisition.update(stateOf(found.get(0), at));
                    return removeAsSeen(acquisition);
                });
    }
}
