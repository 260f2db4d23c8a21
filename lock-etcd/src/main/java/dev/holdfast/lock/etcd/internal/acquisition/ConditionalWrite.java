package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.EtcdValue;
import dev.holdfast.lock.etcd.internal.client.StoreHistory;
import dev.holdfast.lock.etcd.internal.permit.PermitSlots;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.FailureTranslator;
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
 * The only way in which this client writes an acquisition's key, for an attempt, for the confirmation of a grant and
 * for a move to another lease: <i>if the key's mod revision is the one this acquisition has seen (0: no key), and that
 * lease has no tombstone of the acquisition, put the key on the lease; otherwise return the key.</i>
 *
 * <p>A request can be executed at any time after it was sent: a connection stalls, a member pauses, a proxy delays it.
 * etcd also executes transactions whose call was cancelled after their bytes arrived. So nothing may depend on when, or
 * whether, an unanswered request is executed. Writes are compared and swapped on the <i>mod</i> revision, which rises
 * with every write and is never used twice. The create revision does not change between writes; with it, a late request
 * could move the key back to a lease that is no longer renewed.
 *
 * <ol>
 *   <li><b>Of all writes that expect one revision, at most one is executed</b>, because it creates a new revision. A
 *       repeated request changes nothing.
 *   <li><b>An acknowledged write invalidates all earlier ones</b>: they expect older revisions, which do not come back.
 *       Its own revision is new, so no pending request can expect it. A grant depends only on an acknowledged write,
 *       and so on the lease of that write, never on a read or a refusal.
 *   <li><b>Later writes without an answer</b> expect the present revision: the key is on the lease of the last
 *       acknowledged write or on the lease of one of them. {@link EtcdAcquisition#possibleLeases} returns them all. All
 *       are renewed, and the validity of a grant is that of the lease that ends first. The next acknowledged write
 *       settles where the key is (2). So does a refused write: it returns the key's state, and no earlier write
 *       expected that revision.
 *   <li><b>Creation</b> expects no key, a state that does come back. While the acquisition continues, its next write
 *       detects a late creation: it is refused, and the acquisition reads the key again. When the acquisition ends,
 *       {@code EtcdRemoval} leaves a tombstone on each lease with an open creation. An earlier creation is then
 *       deleted. A later one is refused by the tombstone or, after the end of the lease, by etcd, which puts no key on
 *       a missing lease.
 *   <li><b>Other clients write the slot</b> in a key of permits ({@link PermitSlots}). They also expect the mod
 *       revision, and leave the key on its lease. At most one such write is executed; our own write is then refused and
 *       repeated.
 *   <li><b>Removal</b> while the acquisition continues also expects the revision seen. At the end, the key is deleted
 *       by its value, which is unique to the acquisition, or unconditionally. After an unconditional deletion, its
 *       number is not used again unless that deletion was answered ({@link ClientKeyPool}). No move can follow, because
 *       moves expect a key.
 *   <li><b>Lost answers</b> cost one more request each: it is refused, returns the key's state, and is repeated. Late
 *       answers are ordered by their revision: older state never replaces newer state ({@link EtcdAcquisition#update}).
 * </ol>
 * The same holds for the mode {@code SINGLE_KEY}, where the creations of all acquisitions compete for one key.
 *
 * <p>The write goes through Raft, so its answer is never stale. A read, even a "linearizable" one, can be stale on a
 * leader that was paused and resumed (etcd-io/etcd#20418). See also etcd-io/etcd#11456, #11457 and
 * jepsen.io/analyses/etcd-3.4.3.
 */
public record ConditionalWrite(EtcdCalls calls, EtcdKeys keys, SharedLeasePool leases) {
    private static final BackgroundLog LOG = BackgroundLog.of(ConditionalWrite.class);
    private static final GetOption KEY_ONLY =
            GetOption.builder().withKeysOnly(true).build();

    /** The answer to a write. */
    public sealed interface Result {
        /**
         * The key is on the lease.
         *
         * @param created its create revision
         * @param reply with what else was read
         */
        record Written(long created, TxnResponse reply) implements Result {}

        /** The key was not as expected; the acquisition has its state now. */
        record Changed() implements Result {}

        /**
         * The key has another acquisition's value.
         *
         * @param present the key
         * @param at the store's revision at that time
         */
        record Foreign(KeyValue present, long at) implements Result {}

        /** A tombstone was there: the acquisition has ended. */
        record Ended() implements Result {}
    }

    /**
     * Sends a write; the result has no time limit.
     *
     * @param ops creates the operations, which put the key by {@link EtcdAcquisition#put}
     */
    public CompletableFuture<Result> send(
            EtcdAcquisition acquisition, SharedLease lease, Function<KeyWrite, List<Op>> ops) {
        acquisition.enterHistory(calls.history().number());
        return send(acquisition, acquisition.beginWrite(lease), ops);
    }

    /**
     * Sends the write of an attempt. It does not move a held key to another lease: a hand-over may have just granted
     * the lock for the remaining time of the present lease. A later hand-over takes this write into account.
     */
    public CompletableFuture<Result> sendAttempt(
            EtcdAcquisition acquisition, SharedLease lease, Function<KeyWrite, List<Op>> ops) {
        acquisition.enterHistory(calls.history().number());
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
        StoreHistory.Sent sent = calls.history().now();
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
                    Result result = isOfThisHistory(acquisition, sent, reply)
                            ? result(acquisition, write, reply)
                            : new Result.Changed();
                    acquisition.endWrite(write);
                    return CompletableFuture.completedFuture(result);
                })
                .thenCompose(result -> result);
    }

    /** An answer from another history says nothing about the state of the key in the present one. */
    private boolean isOfThisHistory(EtcdAcquisition acquisition, StoreHistory.Sent sent, TxnResponse reply) {
        long at = reply.getHeader().getRevision();
        if (calls.history().answered(sent, at)) {
            LOG.debug("etcd's revision went back from {} to {}: it has other data", sent.revision(), at);
            calls.restartTerms(reply);
        } else {
            calls.noteTerm(reply);
        }
        int present = calls.history().number();
        return sent.number() == present && acquisition.history() == present;
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

    /** A write with a plan reads the key again; other writes leave the slot as it was. */
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
     * Deletes the key if it is as last seen, or if only its slot has changed since. Completes with whether it was
     * deleted, or with true if the key is known to be missing.
     */
    public CompletableFuture<Boolean> removeAsSeen(EtcdAcquisition acquisition) {
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
                    return acquisition.update(stateOf(found.get(0), at))
                            ? removeAsSeen(acquisition)
                            : CompletableFuture.completedFuture(false);
                });
    }
}
