package dev.holdfast.lock.redis.internal.backend;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.connection.RedisFailures;
import dev.holdfast.lock.redis.internal.connection.RedisSignals;
import dev.holdfast.lock.redis.internal.connection.RedisWaiters;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.spi.support.Answers;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/**
 * Locks on one server, one Sentinel-watched group, or one cluster.
 *
 * <p>Everything is decided by scripts: {@link RedisScript} for the mutex, {@link RedisDemandScripts} for shares and permits, and for
 * any client that meets them. All commands of one lock go over one connection, so that they arrive
 * in the order in which they were sent, and an {@code abandon} comes after the attempts that it ends. Only attempts that
 * wait for replicas have connections of their own.
 *
 * <p>Non-blocking; stages complete on the Redis client's threads, which may send further commands. Thread-safe.
 */
public final class RedisLockBackend implements LockBackend {
    private static final long MIN_LEASE_MILLIS = 100;
    private static final long SAFETY_POLL_MILLIS = 1_000;
    /** How long to wait for the answer when a lock is given back; nobody else waits for it. */
    private static final long GIVE_BACK_MILLIS = 3_000;

    private final RedisSettings settings;
    private final RedisCalls calls;
    private final AcquireSender sender;
    private final RedisAttempts attempts;
    private final RedisRenewal renewal;
    private final RedisWaiters waiters;
    private final RedisSignals signals;
    private final Runnable closer;
    private final BackendInfo info;
    private final String memoryMillis;
    private final AtomicLong generations = new AtomicLong();

    public RedisLockBackend(
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
        this.attempts = new RedisAttempts(settings, sender, waiters, signals);
        this.renewal = new RedisRenewal(settings, cluster, calls, sender);
        this.waiters = waiters;
        this.signals = signals;
        this.closer = closer;
        this.memoryMillis = Long.toString(settings.memoryMillis());
        waiters.onUnwanted(this::giveBack);
        boolean queues = signals.queues();
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
        return tryAcquire(request, generations.incrementAndGet());
    }

    /** Tries to acquire, with a greater generation than each earlier attempt of the same acquisition. */
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request, long generation) {
        return attempts.tryAcquire(request, generation);
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        if (!(ticket instanceof RedisTicket place)) {
            return Subscription.NONE;
        }
        return attempts.listen(place.acquisition().owner().toString(), onMaybeFree);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        String owner = acquisition.owner().toString();
        attempts.abandoned(owner);
        sender.ended(owner);
        return answer("abandon", end(acquisition, owner, 0, "both", "", timeoutMillis), reply -> null);
    }

    /**
     * Tries the rights of the user with a script that finds nothing to end; blocks. What else may fail is left to the first lock.
     *
     * @throws LockConfigurationException if the user lacks a right
     */
    public void requireRights(long timeoutMillis) {
        AcquisitionId nobody = new AcquisitionId("holdfast/doctor", OwnerId.random());
        String owner = nobody.owner().toString();
        try {
            Answers.get(end(nobody, owner, 0, "both", "", timeoutMillis), timeoutMillis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (TimeoutException e) {
            // The first lock reports why there is no answer.
        } catch (ExecutionException e) {
            if (RedisFailures.isDenied(e)) {
                throw RedisFailures.TRANSLATOR.translate("connecting to Redis", e);
            }
        }
    }

    /** Ends a place in the queue, but not a grant. */
    public CompletionStage<Void> abandonPlace(AcquisitionId acquisition, long timeoutMillis) {
        String owner = acquisition.owner().toString();
        attempts.forget(owner);
        return answer("abandon", end(acquisition, owner, 0, "place", "", timeoutMillis), reply -> null);
    }

    /** Ends what attempts up to a generation were granted, whose token need not be known; a place in the queue stays. */
    public CompletionStage<Boolean> takeBack(AcquisitionId acquisition, long generation, long timeoutMillis) {
        String owner = acquisition.owner().toString();
        sender.takenBack(owner, generation);
        return answer(
                "release",
                end(acquisition, owner, 0, "grant", Long.toString(generation), timeoutMillis),
                reply -> number(reply, 0) == 1);
    }

    /**
     * An entry of an acquisition that has ended may stay in the queue for a while: a grant while a slot moves, or after the state was
     * deleted, cannot always remove it. A release that hands the lock over to it must not cost a lease. Only what ended here is given back.
     */
    private void giveBack(String key, String owner, long generation) {
        if (!attempts.hasEnded(owner)) {
            return; // it may be held here: the message has come twice
        }
        RedisKeys.name(settings.prefix(), key)
                .map(name -> new AcquisitionId(
                        name,
                        new OwnerId(
                                Long.parseUnsignedLong(owner, 0, 16, 16), Long.parseUnsignedLong(owner, 16, 32, 16))))
                .ifPresent(acquisition -> takeBack(acquisition, generation, GIVE_BACK_MILLIS));
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        AcquisitionId acquisition = grant.acquisition();
        String owner = acquisition.owner().toString();
        attempts.released(owner);
        sender.ended(owner);
        return answer(
                "release",
                end(acquisition, owner, grant.token(), "release", releaseId(), timeoutMillis),
                reply -> number(reply, 0) == 1 ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD);
    }

    /** Names one release, so that it gets the same answer if the Redis client sends it again. */
    private static String releaseId() {
        return HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
    }

    /** See {@link RedisScript#end}. */
    private CompletableFuture<List<Object>> end(
            AcquisitionId acquisition, String owner, long token, String what, String which, long timeoutMillis) {
        String[] args = RedisScript.end(owner, token, memoryMillis, what, which);
        return calls.script(
                RedisAttempt.releaseScript(acquisition.demand()),
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
                "listing",
                new RedisListing(calls, settings.prefix(), prefix, limit, timeoutMillis, System::nanoTime).list());
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

    /** How many acquisitions may be called. */
    public int waiting() {
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
