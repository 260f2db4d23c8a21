package dev.holdfast.lock.etcd.internal.permit;

import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * The limit of a name's permits, stored in a key next to those of the queue. There are two such keys, of which at most
 * one exists. A change deletes one and writes the other, so that watches for deletions report it. It expects the
 * limit's revision as read, so a late or repeated change is refused. The limit is on no lease, and does not expire.
 */
public record PermitLimits(EtcdKeys keys) {

    /** Sets the limit, as part of a transaction, if there is none. */
    public Op setIfNone(String name, int limit) {
        List<ByteSequence> both = keys.limits(name);
        return Op.txn(areNotThere(both), new Op[] {put(both.get(0), limit)}, new Op[0]);
    }

    private static Cmp[] areNotThere(List<ByteSequence> both) {
        return both.stream()
                .map(key -> new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(0)))
                .toArray(Cmp[]::new);
    }

    private static Op put(ByteSequence key, int limit) {
        return Op.put(key, EtcdKeys.bytes(Integer.toString(limit)), PutOption.DEFAULT);
    }

    /** Completes with the limit that is stored afterwards. */
    public CompletableFuture<Integer> change(EtcdCalls calls, String name, int from, int to) {
        List<ByteSequence> both = keys.limits(name);
        return EtcdCalls.guarded(() -> calls.txn()
                        .If(areNotThere(both))
                        .Then(put(both.get(0), to))
                        .Else(both.stream()
                                .map(key -> Op.get(key, GetOption.DEFAULT))
                                .toArray(Op[]::new))
                        .commit())
                .thenCompose(reply -> {
                    Stream<KeyValue> found = reply.getGetResponses().stream().flatMap(get -> get.getKvs().stream());
                    KeyValue present =
                            reply.isSucceeded() ? null : found.findFirst().orElse(null);
                    if (present == null) {
                        return CompletableFuture.completedFuture(to);
                    }
                    int stored = PermitLine.limitOf(present);
                    return stored == from && stored != to
                            ? replace(calls, name, present, from, to)
                            : CompletableFuture.completedFuture(stored);
                });
    }

    private CompletableFuture<Integer> replace(EtcdCalls calls, String name, KeyValue present, int from, int to) {
        List<ByteSequence> both = keys.limits(name);
        boolean first = EtcdKeys.ending(present.getKey()).equals(EtcdKeys.ending(both.get(0)));
        ByteSequence old = both.get(first ? 0 : 1);
        ByteSequence next = both.get(first ? 1 : 0);
        return EtcdCalls.guarded(() -> calls.txn()
                        .If(new Cmp(old, Cmp.Op.EQUAL, CmpTarget.modRevision(present.getModRevision())))
                        .Then(Op.delete(old, DeleteOption.DEFAULT), put(next, to))
                        .commit())
                .thenCompose(reply ->
                        reply.isSucceeded() ? CompletableFuture.completedFuture(to) : change(calls, name, from, to));
    }
}
