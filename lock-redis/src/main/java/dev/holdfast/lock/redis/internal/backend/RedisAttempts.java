package dev.holdfast.lock.redis.internal.backend;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.redis.internal.connection.RedisFailures;
import dev.holdfast.lock.redis.internal.connection.RedisSignals;
import dev.holdfast.lock.redis.internal.connection.RedisWaiters;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.Subscription;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes attempts and reads their answers, and sees to it that an acquisition is called as long as it waits. Thread-safe, never
 * blocks.
 */
final class RedisAttempts {
    /** The answers of scripts other than granted and busy. */
    private static final long MEETS_OTHER_DEMANDS = 2;

    private static final long HAS_ANOTHER_LIMIT = 3;

    private final RedisSettings settings;
    private final AcquireSender sender;
    private final RedisWaiters waiters;
    private final RedisSignals signals;
    private final String memoryMillis;
    private final String pollPatienceMillis;

    /** Acquisitions that have, or may have, an entry in a queue, and have not ended. */
    private final RecentOwners queued = new RecentOwners();

    /** Acquisitions that were abandoned, and those with an entry in a queue that were released. */
    private final RecentOwners ended = new RecentOwners();

    private volatile EncodedIdentity identity = new EncodedIdentity(new Identity("", "", 0));

    RedisAttempts(RedisSettings settings, AcquireSender sender, RedisWaiters waiters, RedisSignals signals) {
        this.settings = settings;
        this.sender = sender;
        this.waiters = waiters;
        this.signals = signals;
        this.memoryMillis = Long.toString(settings.memoryMillis());
        this.pollPatienceMillis = Long.toString(Math.min(5_000, 2 * settings.pollMaxMillis() + 500));
    }

    /** Tries to acquire, with a greater generation than each earlier attempt of the same acquisition. */
    CompletionStage<AcquireResult> tryAcquire(AcquireRequest request, long generation) {
        AcquisitionId acquisition = request.acquisition();
        RedisKeys keys = RedisKeys.of(settings.prefix(), acquisition.name());
        String owner = acquisition.owner().toString();
        String mode = request.waitMillis() > 0 ? signals.mode(keys) : RedisSignals.DEAF;
        boolean queue = !mode.equals(RedisSignals.DEAF);
        boolean takesOver = queue && expect(request, owner, generation);
        RedisTicket ticket = request.ticket() instanceof RedisTicket given ? given : null;
        String[] args = {
            owner,
            Long.toString(request.leaseMillis() + settings.memoryMillis()),
            memoryMillis,
            Long.toString(generation),
            encoded(request.identity()),
            howToWait(request, takesOver ? "2" : queue ? "1" : "0", mode, signals.inbox(), ticket)
        };
        RedisAttempt attempt = new RedisAttempt(false, request.demand(), keys, args, generation);
        boolean inLine = !(request.demand() instanceof Demand.Exclusive) || ticket != null && ticket.inLine();
        CompletableFuture<AcquireResult> answer =
                inLine ? sendInLine(request, attempt, queue) : send(request, attempt, queue);
        return answer.whenComplete((result, failure) -> {
            if (failure != null && queue) {
                queued.add(owner);
                leftQueue(owner);
            }
        });
    }

    /**
     * From now on calls to the owner count. Tells whether the attempt may be handed the lock as well: not while
     * grants wait for replicas.
     */
    private boolean expect(AcquireRequest request, String owner, long generation) {
        Consumer<Grant> onHandOver = request.onHandOver();
        if (onHandOver == null || settings.replicas() != null || !(request.demand() instanceof Demand.Exclusive)) {
            waiters.expect(owner);
            return false;
        }
        waiters.expect(owner, generation, (token, leaseMillis) -> {
            leftQueue(owner);
            onHandOver.accept(
                    new Grant(request.acquisition(), token, Math.min(leaseMillis, request.leaseMillis()), null));
        });
        return true;
    }

    private CompletableFuture<AcquireResult> send(AcquireRequest request, RedisAttempt attempt, boolean queue) {
        return RedisFailures.TRANSLATOR
                .translate("attempt", sender.tryAcquire(attempt, request.timeoutMillis()))
                .thenCompose(reply -> RedisLockBackend.number(reply, 0) == MEETS_OTHER_DEMANDS
                                && !settings.barging()
                                && !ended.contains(attempt.owner())
                        ? sendInLine(request, attempt, queue)
                        : CompletableFuture.completedFuture(result(request, attempt, queue, reply)));
    }

    /** Sends an attempt that may stand in line with shares and permits, where who polls has a place too. */
    private CompletableFuture<AcquireResult> sendInLine(AcquireRequest request, RedisAttempt attempt, boolean queue) {
        String[] args = attempt.args();
        if (request.waitMillis() > 0 && !queue) {
            RedisTicket ticket = request.ticket() instanceof RedisTicket given ? given : null;
            args[5] = howToWait(request, "1", RedisSignals.DEAF, pollPatienceMillis, ticket);
        }
        args[4] = args[4].replaceAll("\\p{Cntrl}", " "); // in the identity; in the record they separate holders
        RedisAttempt inLine = attempt.ofLine();
        return RedisFailures.TRANSLATOR.translate(
                "attempt",
                sender.tryAcquire(inLine, request.timeoutMillis())
                        .thenApply(reply -> result(request, inLine, queue, reply)));
    }

    /** Reads the answer of {@link RedisScript#ATTEMPT}, or of {@link RedisDemandScripts#ATTEMPT}. */
    private AcquireResult result(AcquireRequest request, RedisAttempt attempt, boolean queue, List<Object> reply) {
        AcquisitionId acquisition = request.acquisition();
        String owner = attempt.owner();
        if (RedisLockBackend.number(reply, 3) == 1 && !waiters.takeHeard(owner)) {
            signals.missed();
        }
        if (RedisLockBackend.number(reply, 0) == 1) {
            forget(owner);
            int slot = attempt.inLine() ? (int) RedisLockBackend.number(reply, 4) : 0;
            return new AcquireResult.Granted(
                    new Grant(acquisition, RedisLockBackend.number(reply, 1), request.leaseMillis(), slot, null));
        }
        if (RedisLockBackend.number(reply, 0) == HAS_ANOTHER_LIMIT) {
            forget(owner);
            return new AcquireResult.OtherLimit((int) RedisLockBackend.number(reply, 1));
        }
        long place = RedisLockBackend.number(reply, 2);
        if (place > 0 && queue) {
            queued.add(owner);
            signals.wanted(owner, attempt.keys());
            unwantedUnlessKnown(owner); // it was handed the lock before this answer came
        } else if (queue) {
            leftQueue(owner); // the queue is full, or the slot is moving
        }
        return new AcquireResult.Busy(
                Math.max(-1, RedisLockBackend.number(reply, 1)),
                place > 0 ? new RedisTicket(acquisition, attempt.inLine(), place) : null);
    }

    /** A client has one identity; it is encoded once for all attempts. */
    private String encoded(Identity asked) {
        EncodedIdentity known = identity;
        if (known.identity() != asked) {
            known = new EncodedIdentity(asked);
            identity = known;
        }
        return known.text();
    }

    /** The only argument that comes unchanged from the user; it may have unpaired surrogates. */
    private static String wellFormed(String text) {
        return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
    }

    private record EncodedIdentity(Identity identity, String text) {
        EncodedIdentity(Identity identity) {
            this(identity, wellFormed(identity.encoded()));
        }
    }

    /**
     * How to wait, in one argument, as {@link RedisScript#ATTEMPT} reads it: most attempts are granted before the
     * server has to.
     */
    private String howToWait(
            AcquireRequest request, String queues, String mode, String inbox, @Nullable RedisTicket ticket) {
        return queues + " " + order(request.fair()) + " " + mode + " " + inbox
                + (ticket == null ? " 0" : " " + ticket.arrival());
    }

    private String order(boolean fair) {
        return settings.barging() ? "any" : fair && signals.queues() ? "fair" : "young";
    }

    /** Calls back when it may be that acquisition's turn. */
    Subscription listen(String owner, Runnable onMaybeFree) {
        Subscription listening = waiters.listen(owner, onMaybeFree);
        return () -> {
            listening.close();
            unwantedUnlessKnown(owner);
        };
    }

    /** An attempt of it that is still to be answered is not repeated. */
    void abandoned(String owner) {
        queued.remove(owner);
        ended.add(owner);
        forget(owner);
    }

    /** Its lock was released. Most acquisitions never queued: nothing can be handed over to them, and they are not remembered. */
    void released(String owner) {
        if (queued.remove(owner)) {
            ended.add(owner);
        }
    }

    /** Whether an acquisition of this client, to which a lock may still be handed over, is known to have ended. */
    boolean hasEnded(String owner) {
        return ended.contains(owner);
    }

    /** It is not called any more. */
    void forget(String owner) {
        waiters.forget(owner);
        signals.unwanted(owner);
    }

    /** It has no known place in the queue. */
    private void leftQueue(String owner) {
        waiters.forgetUnlessListened(owner);
        signals.unwanted(owner);
    }

    /** Waiters that have left need no call. */
    private void unwantedUnlessKnown(String owner) {
        if (!waiters.knows(owner)) {
            signals.unwanted(owner);
        }
    }
}
