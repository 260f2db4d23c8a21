package dev.holdfast.lock.consul.internal.session;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.holdfast.lock.consul.internal.http.ConsulException;
import dev.holdfast.lock.consul.internal.http.ConsulHttp;
import dev.holdfast.lock.consul.internal.http.Deadline;
import dev.holdfast.lock.consul.internal.http.Reply;
import dev.holdfast.lock.consul.internal.http.Unchecked;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Has one session for all locks of this client with the same lease. Thread-safe; never blocks. */
public final class SessionPool {
    /** The longest TTL that Consul accepts. */
    static final long MAX_TTL_MILLIS = Duration.ofHours(24).toMillis();

    private static final long MAX_LOCK_DELAY_MILLIS = Duration.ofSeconds(60).toMillis();

    private final ConsulHttp http;
    private final ConsulKeys keys;
    private final @Nullable Duration lockDelay;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Long, CompletableFuture<ConsulSession>> newest = new HashMap<>();
    /** The sessions that may still exist, by their ids. */
    private final Map<String, ConsulSession> all = new ConcurrentHashMap<>();

    /**
     * Creates a pool without sessions.
     *
     * @param lockDelay how long Consul refuses a lock to other clients after its session has ended; null for the lease
     */
    public SessionPool(ConsulHttp http, ConsulKeys keys, @Nullable Duration lockDelay) {
        this.http = http;
        this.keys = keys;
        this.lockDelay = lockDelay;
    }

    /** Returns a session that has not expired by our count; creates one if there is none. */
    public CompletableFuture<ConsulSession> usable(long leaseMillis, Identity identity, Deadline deadline) {
        long ttlMillis = Math.min(MAX_TTL_MILLIS, leaseMillis);
        CompletableFuture<ConsulSession> made = new CompletableFuture<>();
        lock.lock();
        try {
            CompletableFuture<ConsulSession> present = newest.get(ttlMillis);
            if (present != null && isUsable(present)) {
                return present.copy();
            }
            newest.put(ttlMillis, made);
        } finally {
            lock.unlock();
        }
        // Whatever happens to the request, those who wait for the session learn it.
        FailureTranslator.guard(() -> create(ttlMillis, identity, deadline)).whenComplete((session, failure) -> {
            if (failure == null) {
                made.complete(session);
            } else {
                made.completeExceptionally(failure);
            }
        });
        return made.copy();
    }

    private static boolean isUsable(CompletableFuture<ConsulSession> session) {
        if (!session.isDone()) {
            return true;
        }
        if (session.isCompletedExceptionally()) {
            return false;
        }
        ConsulSession made = session.join();
        return !made.hasEnded() && made.leftMillis(System.nanoTime()) > 0;
    }

    private CompletableFuture<ConsulSession> create(long ttlMillis, Identity identity, Deadline deadline) {
        long delayMillis = lockDelay == null ? Math.min(MAX_LOCK_DELAY_MILLIS, ttlMillis) : lockDelay.toMillis();
        JsonObject body = new JsonObject();
        body.addProperty("Name", "holdfast " + identity.pid() + "@" + identity.host());
        body.addProperty("TTL", ttlMillis + "ms");
        body.addProperty("LockDelay", delayMillis + "ms");
        body.addProperty("Behavior", "delete");
        body.add("NodeChecks", new JsonArray()); // no health check ends it, only its TTL
        body.add("ServiceChecks", new JsonArray());
        long sentNanos = System.nanoTime();
        return http.put("/v1/session/create", body.toString(), deadline.forRenewal())
                .thenApply(reply -> {
                    String id = Unchecked.run(() -> reply.expect(Reply.OK))
                            .json()
                            .getAsJsonObject()
                            .get("ID")
                            .getAsString();
                    ConsulSession session = new ConsulSession(id, ttlMillis, sentNanos);
                    all.values().removeIf(old -> old.leftMillis(sentNanos) < -3 * old.ttlMillis());
                    all.put(id, session);
                    return session;
                });
    }

    /** Returns a session of this client that may still exist, or null. */
    public @Nullable ConsulSession find(String id) {
        return all.get(id);
    }

    /** Renews a session; false if Consul does not find it, which a transaction has to confirm. */
    public CompletableFuture<Boolean> renew(ConsulSession session, Deadline deadline) {
        long sentNanos = System.nanoTime();
        return http.put("/v1/session/renew/" + session.id(), "", deadline.forRenewal())
                .thenApply(reply -> {
                    if (Unchecked.run(() -> reply.expect(Reply.OK, Reply.NOT_FOUND))
                                    .status()
                            == Reply.NOT_FOUND) {
                        return false;
                    }
                    session.confirmed(sentNanos);
                    return true;
                });
    }

    /**
     * Starts a new epoch, so that all attempts fail that were sent on this session and not executed yet. An attempt
     * changes nothing unless the session's epoch is the one that its sender expected. Returns false if Consul does not
     * find the session; then no attempt on it can succeed.
     */
    public CompletableFuture<Boolean> newEpoch(ConsulSession session, Deadline deadline) {
        CompletableFuture<Boolean> result = new CompletableFuture<>();
        CompletableFuture<Boolean> running = session.newEpoch().compareAndExchange(null, result);
        if (running != null) {
            return running.copy();
        }
        FailureTranslator.guard(() -> transact(epochWrite(session), false, deadline.goingFirst()))
                // Before the epoch increases: a caller that sends an attempt with the new epoch and then asks for a
                // newer one must not get this one.
                .whenComplete((outcome, failure) -> session.newEpoch().set(null))
                .thenApply(outcome -> Unchecked.run(() -> raised(session, outcome)))
                .whenComplete((valid, failure) -> {
                    if (failure == null) {
                        result.complete(valid);
                    } else {
                        result.completeExceptionally(failure);
                    }
                });
        return result;
    }

    /** Writes a new random value, because Consul does not count a write that changes nothing. */
    private Transaction epochWrite(ConsulSession session) {
        String value =
                Base64.getEncoder().encodeToString(OwnerId.random().toString().getBytes(StandardCharsets.US_ASCII));
        return new Transaction().lock(keys.epoch(session.id()), session.id(), value);
    }

    private boolean raised(ConsulSession session, Transaction.Outcome outcome) throws ConsulException {
        if (outcome.done()) {
            session.raiseEpoch(outcome.written(keys.epoch(session.id())).modifyIndex());
            return true;
        }
        if (outcome.says("invalid session")) {
            ended(session);
            return false;
        }
        throw new ConsulException(Reply.CONFLICT, outcome.refusals().values().toString());
    }

    /** The conditions of an attempt on this session. */
    public Transaction attempt(ConsulSession session, long epoch) {
        String key = keys.epoch(session.id());
        return epoch == ConsulSession.NO_EPOCH
                ? new Transaction().checkAbsent(key)
                : new Transaction().checkIndex(key, epoch);
    }

    public CompletableFuture<Transaction.Outcome> transact(Transaction transaction, boolean read, Deadline deadline) {
        return http.put(read ? "/v1/txn?consistent" : "/v1/txn", transaction.body(), deadline)
                .thenApply(
                        reply -> Unchecked.run(() -> Transaction.Outcome.of(reply.expect(Reply.OK, Reply.CONFLICT))));
    }

    /** Records that Consul does not find the session. */
    public void ended(ConsulSession session) {
        session.end();
        all.remove(session.id());
    }

    /** Ends all sessions, and with them the locks that they still hold. */
    public CompletableFuture<Void> close(Deadline deadline) {
        return CompletableFuture.allOf(all.keySet().stream()
                .map(id -> http.put("/v1/session/destroy/" + id, "", deadline.goingFirst()))
                .toArray(CompletableFuture<?>[]::new));
    }
}
