package dev.holdfast.lock.consul;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Reads and removes the keys of locks. Thread-safe; never blocks. */
final class HeldKeys {
    private final ConsulHttp http;
    private final Sessions sessions;
    private final ConsulKeys keys;

    HeldKeys(ConsulHttp http, Sessions sessions, ConsulKeys keys) {
        this.http = http;
        this.sessions = sessions;
        this.keys = keys;
    }

    /** Reads the key from the leader; null if the lock is free. */
    CompletableFuture<Reply.@Nullable Entry> read(String name, Deadline deadline) {
        return http.get(ConsulKeys.path(keys.lock(name)) + "?consistent", deadline)
                .thenApply(reply -> Failing.run(() -> reply.expect(Reply.OK, Reply.NOT_FOUND))
                        .entry());
    }

    /** Removes the key if it still has this index, and returns whether it did. */
    CompletableFuture<Boolean> delete(String name, long index, Deadline deadline) {
        String key = keys.lock(name);
        // Consul reports success for deleting a missing key: hence the check.
        Transaction transaction = new Transaction().checkIndex(key, index).delete(key, index);
        return sessions.transact(transaction, false, deadline).thenApply(Transaction.Outcome::done);
    }
}
