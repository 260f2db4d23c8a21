package dev.holdfast.lock.etcd;

import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * How a waiter polls: it reads its own key and what it waits for, which costs no write and no entry in the Raft log. While
 * both are as they were, nothing has changed for it, and its watch goes on. The read may be stale; that makes it look
 * later, never earlier: those ahead of it only leave, and an attempt's write or the event of the last one's leaving grants the lock.
 */
record WaiterLook(EtcdCalls calls, EtcdProtocol protocol) {
    private static final GetOption KEY_ONLY =
            GetOption.builder().withKeysOnly(true).build();

    /** Completes with whether the waiter is still where its ticket says. */
    CompletableFuture<Boolean> isUnchanged(EtcdTicket ticket) {
        EtcdAcquisition acquisition = ticket.acquisition();
        Op own = Op.get(acquisition.key(), KEY_ONLY);
        Op before = Op.get(ticket.watched(), ticket.readOption());
        return EtcdCalls.guarded(() -> calls.txn().Then(own, before).commit()).thenApply(reply -> {
            calls.noteTerm(reply);
            List<GetResponse> read = reply.getGetResponses();
            boolean waits = !protocol.queues()
                    || read.get(0).getKvs().stream().anyMatch(key -> isAsSeen(key, acquisition.seen()));
            return waits
                    && !ticket.onRead(read.get(1).getKvs(), reply.getHeader().getRevision());
        });
    }

    private static boolean isAsSeen(KeyValue key, KeyState seen) {
        return key.getModRevision() == seen.modified();
    }
}
