package dev.holdfast.lock.etcd.internal.queue;

import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdTicket;
import dev.holdfast.lock.etcd.internal.acquisition.KeyState;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A waiter's poll: it reads its own key and the keys ahead, which needs no write and no entry in the Raft log. While
 * they are unchanged, its watch continues. A stale read can only delay the next attempt: keys ahead only leave, and
 * only an attempt's write or the event of the last deletion grants the lock.
 */
record WaiterPoll(EtcdCalls calls, EtcdProtocol protocol) {
    private static final GetOption KEY_ONLY =
            GetOption.builder().withKeysOnly(true).build();

    /** Completes with whether the waiter's position is unchanged. */
    CompletableFuture<Boolean> poll(EtcdTicket ticket) {
        EtcdAcquisition acquisition = ticket.acquisition();
        Op own = Op.get(acquisition.key(), KEY_ONLY);
        boolean isRead = ticket.isRead();
        long known = ticket.revision();
        Op[] reads = isRead ? new Op[] {own} : new Op[] {own, Op.get(ticket.watched(), ticket.readOption())};
        return EtcdCalls.guarded(() -> calls.txn().Then(reads).commit()).thenApply(reply -> {
            calls.noteTerm(reply);
            long at = reply.getHeader().getRevision();
            if (at < known) {
                return false; // a member that lags, or another history of the store: an attempt decides
            }
            List<GetResponse> read = reply.getGetResponses();
            boolean waits = !protocol.queues()
                    || read.get(0).getKvs().stream().anyMatch(key -> isAsSeen(key, acquisition.seen()));
            return waits
                    && !(isRead
                            ? ticket.mayProceed()
                            : ticket.onRead(read.get(1).getKvs(), at));
        });
    }

    private static boolean isAsSeen(KeyValue key, KeyState seen) {
        return key.getModRevision() == seen.modified();
    }
}
