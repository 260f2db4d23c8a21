package dev.holdfast.lock.consul.internal.acquisition;

import dev.holdfast.lock.consul.internal.http.Deadline;
import dev.holdfast.lock.consul.internal.http.Reply;
import dev.holdfast.lock.consul.internal.http.Unchecked;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.consul.internal.session.SessionPool;
import dev.holdfast.lock.consul.internal.session.Transaction;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Reads and removes the keys of locks. Thread-safe; never blocks. */
final class HeldKeys {
    private final SessionPool sessions;
    private final ConsulKeys keys;

    HeldKeys(SessionPool sessions, ConsulKeys keys) {
        this.sessions = sessions;
        this.keys = keys;
    }

    /** Reads the key from the leader; null if the lock is free. */
    CompletableFuture<Reply.@Nullable Entry> read(String name, Deadline deadline) {
        return sessions.transact(new Transaction().get(keys.lock(name)), true, deadline)
                .thenApply(outcome -> Unchecked.run(() -> outcome.read()));
    }

    /** Removes the key if it still has this index, and returns whether it did. */
    CompletableFuture<Boolean> delete(String name, long index, Deadline deadline) {
        String key = keys.lock(name);
        // Consul reports success for deleting a missing key: hence the check.
        Transaction transaction = new Transaction().checkIndex(key, index).delete(key, index);
        return sessions.transact(transaction, false, deadline).thenApply(Transaction.Outcome::done);
    }
}
