package dev.holdfast.lock.consul.internal.acquisition;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.consul.internal.http.AgentExamination;
import dev.holdfast.lock.consul.internal.http.ConsulConnection;
import dev.holdfast.lock.consul.internal.http.ConsulFailures;
import dev.holdfast.lock.consul.internal.http.ConsulHttp;
import dev.holdfast.lock.consul.internal.http.Deadline;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.consul.internal.session.SessionPool;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.spi.support.Answers;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Locks in Consul's key-value store. One transaction acquires: it requires the key of the lock to be absent, and
 * creates it on a session.
 *
 * <ol>
 * <li>Whose clock ends a grant? The leader's: a session ends after its TTL at the earliest, usually after about twice
 *       its TTL. This process counts the TTL from before it sent the last acknowledged renewal.
 * <li>Why do tokens increase? A token is the raft index of the transaction, which increases for the whole cluster,
 *       across deletions, restarts and leaders. The key's own {@code LockIndex} starts again when the key is deleted.
 * <li>What if the reply to an attempt is lost? The next attempt finds the key, and reads whether it is its own.
 * <li>What if an attempt arrives after its abandonment? Each attempt checks its session's epoch, and an abandonment
 *       with unanswered attempts first starts a new epoch. A late attempt changes nothing.
 * <li>What if a session is ended early, by an operator or an agent that leaves? The lock-delay keeps other clients
 *       away. The exception is an attempt that has passed the leader's check of the delay and is not committed yet: it
 *       is granted at once, while the first holder still counts its lease as valid. Its token is higher. An end by the
 *       TTL has no such gap.
 * <li>What can the store lose? Nothing that a majority has written; a development agent loses everything at a restart.
 * </ol>
 */
public final class ConsulLockBackend implements LockBackend {
    /** Only a safety net, since notifications are prompt. */
    private static final long POLL_MILLIS = 10_000;

    private static final long CLOSE_MILLIS = 2_000;

    private final BackendInfo info;
    private final ConsulHttp http;
    private final SessionPool sessions;
    private final Acquisitions acquisitions = new Acquisitions();
    private final HeldKeys held;
    private final ConsulAttempts attempts;
    private final ConsulRenewal renewal;
    private final ConsulRemovals removals;
    private final KeyWatchRegistry watches;

    public ConsulLockBackend(
            ConsulConnection connection, ConsulKeys keys, Duration minTtl, @Nullable Duration lockDelay) {
        info = BackendInfo.named("consul")
                .minLeaseMillis(minTtl.toMillis())
                .pollMinMillis(POLL_MILLIS)
                .pollMaxMillis(POLL_MILLIS)
                .build();
        http = new ConsulHttp(connection);
        sessions = new SessionPool(http, keys, lockDelay);
        held = new HeldKeys(sessions, keys);
        attempts = new ConsulAttempts(sessions, acquisitions, keys, held);
        renewal = new ConsulRenewal(sessions, keys);
        removals = new ConsulRemovals(sessions, acquisitions, held);
        watches = new KeyWatchRegistry(http, new KeyLooks(sessions), keys);
    }

    @Override
    public BackendInfo info() {
        return info;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        return translated("acquire", attempts.tryAcquire(request).whenComplete((result, failure) -> {
            if (result instanceof AcquireResult.Busy busy
                    && busy.remainingMillis() == ConsulAttempts.LOCK_DELAY_POLL_MILLIS) {
                watches.delayed(request.acquisition().name(), busy.remainingMillis());
            }
        }));
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        return watches.subscribe(((ConsulTicket) ticket).acquisition().name(), onMaybeFree);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        return translated(
                "abandon",
                removals.abandon(acquisition, Deadline.in(timeoutMillis).goingFirst()));
    }

    /** Also removes in the background what lost grants may have left. */
    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        removals.retryLost(Deadline.in(timeoutMillis).goingFirst());
        CompletableFuture<List<RenewResult>> results = translated(
                "renew", renewal.renew(grants, Deadline.in(timeoutMillis).forRenewal()));
        return results.whenComplete((answers, failure) -> {
            for (int i = 0; answers != null && i < answers.size(); i++) {
                ConsulHold hold = ConsulHold.of(grants.get(i));
                if (answers.get(i) instanceof RenewResult.Lost && hold != null) {
                    removals.lost(hold, Deadline.in(timeoutMillis).goingFirst());
                }
            }
        });
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        ConsulHold hold = ConsulHold.of(grant);
        return hold == null
                ? CompletableFuture.completedFuture(ReleaseResult.NOT_HELD)
                : translated(
                        "release",
                        removals.release(hold, Deadline.in(timeoutMillis).goingFirst()));
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return translated(
                "holder",
                held.read(name, Deadline.in(timeoutMillis))
                        .thenApply(entry -> entry == null
                                ? Optional.empty()
                                : Optional.of(ConsulValue.decode(entry.value()).holder(entry.createIndex()))));
    }

    @Override
    public CompletionStage<List<StoreFinding>> examine(long timeoutMillis) {
        return translated("examine Consul", AgentExamination.examine(http, Deadline.in(timeoutMillis)));
    }

    private static <T> CompletableFuture<T> translated(String operation, CompletionStage<T> stage) {
        return ConsulFailures.TRANSLATOR.translate(operation, stage);
    }

    /** The acquisitions of this client, for tests. */
    public Acquisitions acquisitions() {
        return acquisitions;
    }

    /** Ends the sessions if an agent answers within two seconds; otherwise they stay for up to twice their TTL. */
    @Override
    public void close() {
        try {
            Answers.get(sessions.close(Deadline.in(CLOSE_MILLIS)), CLOSE_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            // The sessions expire by themselves.
        } finally {
            http.close();
        }
    }
}
