package dev.holdfast.lock.redis;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Locks on one server, one Sentinel-watched group, or one cluster.
 *
 * <p>Everything is decided by scripts: {@link RedisScript} for the mutex, {@link RedisDemandScripts} for shares and permits, and for
 * whoever meets them. All commands of one lock go over one connection, so that they arrive
 * in the order in which they were sent, and an {@code abandon} comes after the attempts that it ends. Only attempts that
 * wait for replicas have connections of their own.
 *
 * <p>Non-blocking; stages complete on the Redis client's threads, which may send further commands. Thread-safe.
 */
final class RedisLockBackend implements LockBackend {
    private static final long MIN_LEASE_MILLIS = 100;
    private static final long SAFETY_POLL_MILLIS = 1_000;
    /** What scripts answer besides granted and busy. */
    private static final long MEETS_OTHER_DEMANDS = 2;

    private static final long HAS_ANOTHER_LIMIT = 3;

    private final RedisSettings settings;
    private final RedisCalls calls;
    private final AcquireSender sender;
    private final RedisRenewal renewal;
    private final RedisWaiters waiters;
    private final RedisSignals signals;
    private final Runnable closer;
    private final BackendInfo info;
    private final String recordMillis;
    private final String pollPatience;
    private final AtomicLong rounds = new AtomicLong();
    private final RedisAbandoned abandoned = new RedisAbandoned();
    private volatile EncodedIdentity identity = new EncodedIdentity(new Identity("", "", 0));

    RedisLockBackend(
            RedisSettings settings,
            boolean cluster,
            RedisCalls calls,
            AcquireSender sender,
            RedisWaiters waiters,
            RedisSignals signals,
            Runnable closer) {
        this.settings = settings;
        this.calls = calls;
        this.sender = sender;
        this.renewal = new RedisRenewal(settings, cluster, calls, sender);
        this.waiters = waiters;
        this.signals = signals;
        this.closer = closer;
        this.recordMillis = Long.toString(settings.recordMillis());
        boolean queues = signals.queues();
        this.pollPatience = Long.toString(Math.min(5_000, 2 * settings.pollMaxMillis() + 500));
        this.info = BackendInfo.named("redis")
                .fifo(queues)
                .minLeaseMillis(MIN_LEASE_MILLIS)
                .pollMinMillis(queues ? SAFETY_POLL_MILLIS : settings.pollMinMillis())
                .pollMaxMillis(queues ? SAFETY_POLL_MILLIS : settings.pollMaxMillis())
                .ordered(settings.replicas() == null) // attempts that wait for replicas have connections of their own
                .expiring(true)
                .handsOver(queues && settings.replicas() == null)
                .listing(true)
                .demands(EnumSet.allOf(Demand.Kind.class))
                .build();
    }

    @Override
    public BackendInfo info() {
        return info;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        return tryAcquire(request, rounds.incrementAndGet());
    }

    /** Tries to acquire, in a round that is greater than that of each earlier attempt of the same acquisition. */
    CompletionStage<AcquireResult> tryAcquire(AcquireRequest request, long round) {
        AcquisitionId acquisition = request.acquisition();
        RedisKeys keys = keys(acquisition.name());
        String owner = acquisition.owner().toString();
        String mode = request.waitMillis() > 0 ? signals.mode(keys) : RedisSignals.DEAF;
        boolean queue = !mode.equals(RedisSignals.DEAF);
        boolean takesOver = queue && expect(request, owner, round);
        RedisTicket ticket = request.ticket() instanceof RedisTicket given ? given : null;
        String[] args = {
            owner,
            Long.toString(request.leaseMillis() + settings.recordMillis()),
            recordMillis,
            Long.toString(round),
            encoded(request.identity()),
            wait(request, takesOver ? "2" : queue ? "1" : "0", mode, signals.inbox(), ticket)
        };
        RedisAttempt attempt = new RedisAttempt(false, request.demand(), keys, args, round);
        boolean inLine = !(request.demand() instanceof Demand.Exclusive) || ticket != null && ticket.inLine();
        CompletableFuture<AcquireResult> answer =
                inLine ? sendInLine(request, attempt, queue) : send(request, attempt, queue);
        return answer.whenComplete((result, failure) -> {
            if (failure != null && queue) {
                leftQueue(owner);
            }
        });
    }

    /** Tells whether the attempt may be handed the lock: not while grants wait for replicas. */
    private boolean expect(AcquireRequest request, String owner, long round) {
        Consumer<Grant> onHandOver = request.onHandOver();
        if (onHandOver == null || settings.replicas() != null || !(request.demand() instanceof Demand.Exclusive)) {
            waiters.expect(owner);
            return false;
        }
        waiters.expect(owner, round, (token, leaseMillis) -> {
            leftQueue(owner);
            long first = Math.min(Math.min(leaseMillis, RedisScript.HANDED_OVER_MILLIS), request.leaseMillis());
            onHandOver.accept(new Grant(request.acquisition(), token, first, new RedisRenewal.AskedLease(request.leaseMillis())));
        });
        return true;
    }

    private CompletableFuture<AcquireResult> send(AcquireRequest request, RedisAttempt attempt, boolean queue) {
        return RedisFailures.TRANSLATOR
                .translate("attempt", sender.tryAcquire(attempt, request.timeoutMillis()))
                .thenCompose(reply -> number(reply, 0) == MEETS_OTHER_DEMANDS
                                && !settings.barging()
                                && !abandoned.has(attempt.owner())
                        ? sendInLine(request, attempt, queue)
                        : CompletableFuture.completedFuture(result(request, attempt, queue, reply)));
    }

    /** Sends an attempt that may stand in line with shares and permits, where who polls has a place too. */
    private CompletableFuture<AcquireResult> sendInLine(AcquireRequest request, RedisAttempt attempt, boolean queue) {
        String[] args = attempt.args();
        if (request.waitMillis() > 0 && !queue) {
            RedisTicket ticket = request.ticket() instanceof RedisTicket given ? given : null;
            args[5] = wait(request, "1", RedisSignals.DEAF, pollPatience, ticket);
        }
        args[4] = args[4].replaceAll("\\p{Cntrl}", " "); // which separate holders
        RedisAttempt inLine = attempt.ofLine();
        return answer(
                "attempt",
                sender.tryAcquire(inLine, request.timeoutMillis()),
                reply -> result(request, inLine, queue, reply));
    }

    private AcquireResult result(AcquireRequest request, RedisAttempt attempt, boolean queue, List<Object> reply) {
        AcquisitionId acquisition = request.acquisition();
        String owner = attempt.owner();
        if (number(reply, 3) == 1 && !waiters.takeHeard(owner)) {
            signals.missed();
        }
        if (number(reply, 0) == 1) {
            forget(owner);
            int slot = attempt.inLine() ? (int) number(reply, 4) : 0;
            return new AcquireResult.Granted(
                    new Grant(acquisition, number(reply, 1), request.leaseMillis(), slot, null));
        }
        if (number(reply, 0) == HAS_ANOTHER_LIMIT) {
            forget(owner);
            return new AcquireResult.OtherLimit((int) number(reply, 1));
        }
        long place = number(reply, 2);
        if (place > 0 && queue) {
            signals.wanted(owner, attempt.keys());
            unlessKnown(owner); // it was handed the lock before this answer came
        } else if (queue) {
            leftQueue(owner); // the queue is full, or the slot is moving
        }
        return new AcquireResult.Busy(
                Math.max(-1, number(reply, 1)),
                place > 0 ? new RedisTicket(acquisition, attempt.inLine(), place) : null);
    }

    /** A client has one identity; it need not be written anew for each attempt. */
    private String encoded(Identity asked) {
        EncodedIdentity known = identity;
        if (known.identity() != asked) {
            known = new EncodedIdentity(asked);
            identity = known;
        }
        return known.text();
    }

    /** The only argument that comes from the user as it is may have unpaired surrogates. */
    private static String wellFormed(String text) {
        return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
    }

    private record EncodedIdentity(Identity identity, String text) {
        EncodedIdentity(Identity identity) {
            this(identity, wellFormed(identity.encoded()));
        }
    }

    /** How to wait, in one argument: most attempts are granted before the server has to read it. */
    private String wait(
            AcquireRequest request, String queues, String mode, String inbox, @Nullable RedisTicket ticket) {
        return queues + " " + order(request.fair()) + " " + mode + " " + inbox
                + (ticket == null ? " 0" : " " + ticket.arrival());
    }

    private String order(boolean fair) {
        return settings.barging() ? "any" : fair && signals.queues() ? "fair" : "young";
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        if (!(ticket instanceof RedisTicket place)) {
            return Subscription.NONE;
        }
        String owner = place.acquisition().owner().toString();
        Subscription listening = waiters.listen(owner, onMaybeFree);
        return () -> {
            listening.close();
            unlessKnown(owner);
        };
    }

    /** Nobody has to be called who is not waiting any more. */
    private void unlessKnown(String owner) {
        if (!waiters.knows(owner)) {
            signals.unwanted(owner);
        }
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        abandoned.add(acquisition.owner().toString());
        forget(acquisition.owner().toString());
        sender.ended(acquisition.owner().toString());
        return answer("abandon", end(acquisition, 0, "both", "", timeoutMillis), reply -> null);
    }

    /** Ends a place in the queue, but not a grant. */
    CompletionStage<Void> abandonPlace(AcquisitionId acquisition, long timeoutMillis) {
        forget(acquisition.owner().toString());
        return answer("abandon", end(acquisition, 0, "place", "", timeoutMillis), reply -> null);
    }

    /** Ends what attempts up to a round were granted, whose token need not be known; a place in the queue stays. */
    CompletionStage<Boolean> takeBack(AcquisitionId acquisition, long round, long timeoutMillis) {
        sender.takenBack(acquisition.owner().toString(), round);
        return answer(
                "release",
                end(acquisition, 0, "grant", Long.toString(round), timeoutMillis),
                reply -> number(reply, 0) == 1);
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        AcquisitionId acquisition = grant.acquisition();
        sender.ended(acquisition.owner().toString());
        return answer(
                "release",
                end(acquisition, grant.token(), "release", releaseId(), timeoutMillis),
                reply -> number(reply, 0) == 1 ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD);
    }

    private static String releaseId() {
        return new OwnerId(0, ThreadLocalRandom.current().nextLong()).toString().substring(16);
    }

    private CompletableFuture<List<Object>> end(
            AcquisitionId acquisition, long token, String what, String which, long timeoutMillis) {
        String[] args = RedisScript.end(acquisition.owner().toString(), token, recordMillis, what, which);
        return calls.script(
                RedisAttempt.release(acquisition.demand()),
                keys(acquisition.name()).all(),
                args,
                timeoutMillis);
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return renewal.renew(grants, timeoutMillis);
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return holders(name, timeoutMillis)
                .thenApply(holders -> holders.stream().findFirst());
    }

    @Override
    public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        String[] state = {keys(name).lock()};
        return answer(
                "holder",
                calls.script(RedisDemandScripts.HOLDERS, state, new String[0], timeoutMillis),
                RedisHolders::of);
    }

    @Override
    public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
        String[] args = {Integer.toString(from), Integer.toString(to)};
        return answer(
                "change of the limit",
                calls.script(RedisDemandScripts.CHANGE_LIMIT, keys(name).withLimit(), args, timeoutMillis),
                reply -> (int) number(reply, 0));
    }

    @Override
    public CompletionStage<LockListing> list(String prefix, int limit, long timeoutMillis) {
        return RedisFailures.TRANSLATOR.translate(
                "listing", new RedisListing(calls, settings.prefix(), prefix, limit, timeoutMillis).list());
    }

    @Override
    public CompletionStage<List<StoreFinding>> examine(long timeoutMillis) {
        return RedisFailures.TRANSLATOR.translate(
                "examination", RedisExamination.examine(calls, settings.prefix(), timeoutMillis));
    }

    @Override
    public void close() {
        signals.close();
        sender.close();
        closer.run();
    }

    private void leftQueue(String owner) {
        waiters.forgetUnlessListened(owner);
        signals.unwanted(owner);
    }

    private void forget(String owner) {
        waiters.forget(owner);
        signals.unwanted(owner);
    }

    /** How many acquisitions may be called. */
    int waiting() {
        return waiters.size();
    }

    private RedisKeys keys(String name) {
        return RedisKeys.of(settings.prefix(), name);
    }

    static long number(List<Object> reply, int index) {
        return reply.get(index) instanceof Long number ? number : Long.parseLong(String.valueOf(reply.get(index)));
    }

    private static <T> CompletableFuture<T> answer(
            String operation, CompletableFuture<List<Object>> reply, Function<List<Object>, T> reader) {
        return RedisFailures.TRANSLATOR.translate(operation, reply.thenApply(reader));
    }
}
