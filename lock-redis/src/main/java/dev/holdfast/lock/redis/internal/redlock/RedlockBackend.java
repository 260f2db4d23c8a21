package dev.holdfast.lock.redis.internal.redlock;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.redis.internal.backend.RedisLockBackend;
import dev.holdfast.lock.redis.internal.backend.RedisSettings;
import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.script.AttemptGenerations;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Several independent masters that vote (Redlock, as described in the Redis documentation, "Distributed Locks with
 * Redis").
 *
 * <p><b>Grant</b>: all masters are asked at once; a majority grants. Its validity is the lease, from before the first
 * request was sent (the engine counts so), less 1 % + 2 ms for the masters' clocks. An attempt without a majority takes
 * its grants back everywhere at once. Each master's commands go over one connection in order, so the taking back comes
 * after the grant that it ends even if that grant's reply is late or lost. If the connection is replaced meanwhile it may
 * come after the next attempt, which it does not touch (see {@link AttemptGenerations}).
 *
 * <p><b>Token</b>: the greatest of the majority's. Renewal and release write it back, and a master never mints one below
 * its last token. The majority of the next grant has a master that granted this one, which knows this token if the grant
 * was released or renewed. If its holder crashed before, the next grant comes a lease later, and its token is greater as
 * long as the masters' clocks differ by less than that. A repeated attempt of the same holder may get another
 * token: that of another majority, whose masters were the first to answer this time.
 *
 * <p><b>Renewal</b>: a majority confirms it. A master that does not hold the lock then, because it restarted empty or did not
 * vote at first, is asked for its vote, so that masters that restart one after the other never end a majority.
 *
 * <p><b>Waiting</b>: a waiter queues at all masters and tries again when a majority has called it. Masters may have their
 * waiters in different orders, so there are no turns, and split votes are tried again after a random time.
 *
 * <p>Thread-safe, non-blocking.
 */
public final class RedlockBackend implements LockBackend {
    private static final long STRAGGLERS_MILLIS = 20;

    private final List<RedlockMaster> masters;
    private final int quorum;
    private final BackendInfo info;
    private final AttemptGenerations generations = new AttemptGenerations();
    private final AtomicLong lastGeneration = new AtomicLong();
    /** A client has one identity, which its attempts give. */
    private volatile Identity identity = new Identity("", "", 0);

    private RedlockBackend(List<RedlockMaster> masters, RedisSettings settings) {
        this.masters = masters;
        this.quorum = masters.size() / 2 + 1;
        this.info = BackendInfo.named("redlock")
                .minLeaseMillis(100)
                .pollMinMillis(settings.notified() ? 200 : settings.pollMinMillis())
                .pollMaxMillis(settings.notified() ? 400 : settings.pollMaxMillis())
                .expiring(true)
                .build();
    }

    /** Connects to a majority at least; the others are tried again when they are needed. */
    public static RedlockBackend connect(
            List<ConnectionFactory> factories,
            RedisSettings settings,
            BiFunction<ConnectionFactory, RedisSettings, RedisLockBackend> opener) {
        List<RedlockMaster> masters = new ArrayList<>();
        for (ConnectionFactory factory : factories) {
            masters.add(new RedlockMaster(factory, master -> opener.apply(master, settings)));
        }
        RedlockBackend backend = new RedlockBackend(List.copyOf(masters), settings);
        RuntimeException failure = null;
        int connected = 0;
        for (RedlockMaster master : masters) {
            try {
                master.connect();
                connected++;
            } catch (RuntimeException e) {
                failure = e;
            }
        }
        if (connected < backend.quorum) {
            backend.close();
            throw new LockUnavailableException(
                    "connecting to Redis: only " + connected + " of " + masters.size()
                            + " masters can be reached, Redlock needs " + backend.quorum + "; start the others",
                    failure);
        }
        return backend;
    }

    @Override
    public BackendInfo info() {
        return info;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        RedlockTicket old = request.ticket() instanceof RedlockTicket ticket ? ticket : null;
        long drift = request.leaseMillis() / 100 + 2;
        String owner = request.acquisition().owner().toString();
        identity = request.identity();
        long generation = lastGeneration.incrementAndGet();
        generations.begin(owner, generation);
        List<CompletionStage<AcquireResult>> asked = ask(index -> masters.get(index)
                .call(backend -> backend.tryAcquire(
                        new AcquireRequest(
                                request.acquisition(),
                                request.leaseMillis(),
                                request.waitMillis(),
                                false,
                                old == null ? null : old.tickets().get(index),
                                request.timeoutMillis(),
                                request.identity()),
                        generation)));
        List<CompletableFuture<?>> takenBack = new ArrayList<>();
        CompletionStage<AcquireResult> decision = this.<AcquireResult, AcquireResult>vote(
                asked,
                votes -> {
                    if (votes.count(AcquireResult.Granted.class::isInstance) < quorum) {
                        return votes.pending() == 0 ? refused(request, generation, votes, takenBack) : null;
                    }
                    if (votes.pending() > 0 && !votes.isLate()) {
                        votes.lateAfter(STRAGGLERS_MILLIS);
                        return null;
                    }
                    long token = votes.answers().stream()
                            .filter(AcquireResult.Granted.class::isInstance)
                            .mapToLong(vote ->
                                    ((AcquireResult.Granted) vote).grant().token())
                            .max()
                            .orElseThrow();
                    AttemptGenerations.Verdict verdict = generations.grants(owner, generation);
                    if (verdict != AttemptGenerations.Verdict.GRANTED) {
                        if (verdict == AttemptGenerations.Verdict.ENDED) {
                            for (int i = 0; i < masters.size(); i++) {
                                takenBack.add(takeBack(i, request, generation));
                            }
                        }
                        throw new LockUnavailableException("attempt: it was given up before it was granted");
                    }
                    return new AcquireResult.Granted(new Grant(
                            request.acquisition(), token, request.leaseMillis() - drift, request.leaseMillis()));
                },
                "attempt");
        return decision.handle((result, failure) -> CompletableFuture.allOf(takenBack.toArray(CompletableFuture[]::new))
                        .handle((nothing, remains) -> remains == null))
                .thenCompose(Function.identity())
                .thenCombine(decision, (clean, result) -> {
                    if (result instanceof AcquireResult.Granted && request.waitMillis() > 0) {
                        leaveQueues(request, asked);
                    }
                    return result instanceof AcquireResult.Busy busy && request.waitMillis() == 0 && clean
                            ? withoutTicket(busy, asked)
                            : result;
                });
    }

    /** There is no waiter, and nothing is left behind, unless a vote that failed was a grant: what has a ticket is abandoned. */
    private static AcquireResult withoutTicket(AcquireResult.Busy busy, List<CompletionStage<AcquireResult>> asked) {
        return asked.stream().anyMatch(vote -> vote.toCompletableFuture().isCompletedExceptionally())
                ? busy
                : new AcquireResult.Busy(busy.remainingMillis(), null);
    }

    private CompletableFuture<Boolean> takeBack(int master, AcquireRequest request, long generation) {
        return masters.get(master)
                .call(backend -> backend.takeBack(request.acquisition(), generation, request.timeoutMillis()))
                .toCompletableFuture();
    }

    /** A grant by a majority leaves places in the queues of the others. */
    private void leaveQueues(AcquireRequest request, List<CompletionStage<AcquireResult>> asked) {
        for (int i = 0; i < masters.size(); i++) {
            RedlockMaster master = masters.get(i);
            asked.get(i).whenComplete((vote, failure) -> {
                if (!(vote instanceof AcquireResult.Granted) && master.connected() != null) {
                    master.call(backend -> backend.abandonPlace(request.acquisition(), request.timeoutMillis()));
                }
            });
        }
    }

    /** Takes back what was granted, and returns when a majority may be free. */
    private AcquireResult refused(
            AcquireRequest request,
            long generation,
            QuorumVote<AcquireResult> votes,
            List<CompletableFuture<?>> takenBack) {
        boolean takesBack = generations.takesBack(request.acquisition().owner().toString(), generation);
        List<@Nullable Ticket> tickets = new ArrayList<>();
        List<Long> freeIn = new ArrayList<>();
        boolean split = false;
        for (int i = 0; i < masters.size(); i++) {
            AcquireResult vote = votes.answer(i);
            tickets.add(vote instanceof AcquireResult.Busy busy ? busy.ticket() : null);
            if (vote instanceof AcquireResult.Busy busy) {
                freeIn.add(busy.remainingMillis() < 0 ? Long.MAX_VALUE : busy.remainingMillis());
                continue;
            }
            freeIn.add(vote == null ? Long.MAX_VALUE : 0L);
            split |= vote instanceof AcquireResult.Granted;
            if (takesBack) {
                // A vote that failed may have been a grant; no call waits for that master again.
                CompletableFuture<Boolean> back = takeBack(i, request, generation);
                if (vote instanceof AcquireResult.Granted) {
                    takenBack.add(back);
                }
            }
        }
        freeIn.sort(Comparator.naturalOrder());
        long remaining = freeIn.get(quorum - 1);
        if (remaining == Long.MAX_VALUE && votes.failed() > masters.size() - quorum) {
            throw new LockUnavailableException(
                    "attempt: " + votes.failed() + " of " + masters.size()
                            + " Redlock masters gave no answer, no majority is possible; the grants were taken back, try again");
        }
        long jitter = ThreadLocalRandom.current().nextLong(5, 50);
        return new AcquireResult.Busy(
                remaining == Long.MAX_VALUE ? -1 : split ? Math.max(jitter, remaining) : remaining + jitter,
                new RedlockTicket(request.acquisition(), tickets));
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        if (!(ticket instanceof RedlockTicket place)) {
            return Subscription.NONE;
        }
        AtomicInteger called = new AtomicInteger();
        List<Subscription> subscriptions = new ArrayList<>();
        for (int i = 0; i < masters.size(); i++) {
            Ticket own = place.tickets().get(i);
            RedisLockBackend backend = masters.get(i).connected();
            if (own != null && backend != null) {
                int bit = 1 << i;
                subscriptions.add(backend.subscribe(own, () -> {
                    int now = called.accumulateAndGet(bit, (before, more) -> before | more);
                    if (Integer.bitCount(now) >= quorum && called.compareAndSet(now, 0)) {
                        onMaybeFree.run();
                    }
                }));
            }
        }
        return () -> subscriptions.forEach(Subscription::close);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        generations.end(acquisition.owner().toString());
        return this.<Boolean, Optional<Boolean>>vote(
                        ask(index -> masters.get(index)
                                .call(backend -> backend.abandon(acquisition, timeoutMillis)
                                        .thenApply(done -> true))),
                        votes -> votes.count(done -> true) >= quorum ? Optional.of(true) : null,
                        "abandon")
                .thenApply(done -> null);
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        List<Grant> full = grants.stream()
                .map(grant -> new Grant(grant.acquisition(), grant.token(), fullLease(grant), null))
                .toList();
        List<CompletionStage<List<RenewResult>>> answers =
                ask(index -> masters.get(index).call(backend -> backend.renew(full, timeoutMillis)));
        CompletionStage<List<RenewResult>> renewed = this.<List<RenewResult>, List<RenewResult>>vote(
                answers,
                votes -> {
                    List<RenewResult> results = IntStream.range(0, grants.size())
                            .mapToObj(i -> renewal(grants.get(i), i, votes))
                            .toList();
                    return votes.pending() == 0 || results.stream().noneMatch(RenewResult.Unknown.class::isInstance)
                            ? results
                            : null;
                },
                "renewal of " + grants.size() + " locks");
        renewed.thenAccept(results -> {
            for (int i = 0; i < results.size(); i++) {
                if (results.get(i) instanceof RenewResult.Lost) {
                    abandon(grants.get(i).acquisition(), timeoutMillis); // a minority may hold it still
                } else if (results.get(i) instanceof RenewResult.Renewed) {
                    voteAgain(full.get(i), i, answers, timeoutMillis);
                }
            }
        });
        return renewed;
    }

    /** A master that does not hold what the majority has confirmed, such as one that restarted empty, is asked for its vote again. */
    private void voteAgain(
            Grant grant, int position, List<CompletionStage<List<RenewResult>>> answers, long timeoutMillis) {
        for (int i = 0; i < masters.size(); i++) {
            int master = i;
            answers.get(i).thenAccept(results -> {
                if (results.get(position) instanceof RenewResult.Lost) {
                    voteAgain(master, grant, timeoutMillis);
                }
            });
        }
    }

    private void voteAgain(int master, Grant grant, long timeoutMillis) {
        String owner = grant.acquisition().owner().toString();
        if (!generations.isGranted(owner)) {
            return;
        }
        long generation = lastGeneration.incrementAndGet();
        AcquireRequest request =
                new AcquireRequest(grant.acquisition(), grant.leaseMillis(), 0, false, null, timeoutMillis, identity);
        masters.get(master)
                .call(backend -> backend.tryAcquire(request, generation))
                .whenComplete((vote, failure) -> {
                    // The release may have reached the master before this vote.
                    if (!(vote instanceof AcquireResult.Busy) && !generations.isGranted(owner)) {
                        takeBack(master, request, generation);
                    }
                });
    }

    private RenewResult renewal(Grant grant, int position, QuorumVote<List<RenewResult>> votes) {
        List<RenewResult> results =
                votes.answers().stream().map(answer -> answer.get(position)).toList();
        if (results.stream().filter(RenewResult.Renewed.class::isInstance).count() >= quorum) {
            return new RenewResult.Renewed(grant.leaseMillis());
        }
        long lost = results.stream().filter(RenewResult.Lost.class::isInstance).count();
        if (lost > masters.size() - quorum) {
            return new RenewResult.Lost(
                    LossReason.REVOKED, lost + " of " + masters.size() + " Redlock masters do not hold it any more");
        }
        return new RenewResult.Unknown(
                "no majority of the " + masters.size() + " Redlock masters has confirmed it", votes.failure());
    }

    /** What the masters were asked for; the grant's own lease is shorter by the drift. */
    private static long fullLease(Grant grant) {
        return grant.handle() instanceof Long lease ? lease : grant.leaseMillis();
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        generations.end(grant.acquisition().owner().toString());
        return this.<ReleaseResult, ReleaseResult>vote(
                ask(index -> masters.get(index).call(backend -> backend.release(grant, timeoutMillis))),
                votes -> {
                    if (votes.count(ReleaseResult.RELEASED::equals) >= quorum) {
                        return ReleaseResult.RELEASED;
                    }
                    return votes.count(ReleaseResult.NOT_HELD::equals) > masters.size() - quorum
                            ? ReleaseResult.NOT_HELD
                            : null;
                },
                "release");
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return this.<Optional<HolderInfo>, Optional<HolderInfo>>vote(
                ask(index -> masters.get(index).call(backend -> backend.holder(name, timeoutMillis))),
                votes -> votes.pending() > 0 || votes.failed() > masters.size() - quorum ? null : majority(votes),
                "holder");
    }

    private Optional<HolderInfo> majority(QuorumVote<Optional<HolderInfo>> votes) {
        List<HolderInfo> holders =
                votes.answers().stream().flatMap(Optional::stream).toList();
        for (HolderInfo candidate : holders) {
            List<HolderInfo> same = holders.stream()
                    .filter(holder -> holder.pid() == candidate.pid()
                            && holder.host().equals(candidate.host())
                            && holder.who().equals(candidate.who()))
                    .toList();
            if (same.size() >= quorum) {
                return same.stream().max(Comparator.comparingLong(HolderInfo::token));
            }
        }
        return Optional.empty();
    }

    @Override
    public void close() {
        masters.forEach(RedlockMaster::close);
    }

    /** Asks all masters at once. */
    private <V> List<CompletionStage<V>> ask(IntFunction<CompletionStage<V>> question) {
        return IntStream.range(0, masters.size()).mapToObj(question).toList();
    }

    /** Lets the rule decide after each answer; without a decision it fails. */
    private <V, T> CompletionStage<T> vote(
            List<CompletionStage<V>> asked, Function<QuorumVote<V>, @Nullable T> rule, String what) {
        QuorumVote<V> votes = new QuorumVote<>(masters.size());
        CompletableFuture<T> decision = new CompletableFuture<>();
        Runnable decide = () -> votes.decide(rule, decision, what, quorum);
        votes.onLate(decide);
        for (int i = 0; i < masters.size(); i++) {
            int index = i;
            asked.get(i).whenComplete((answer, failure) -> {
                votes.add(index, answer, failure);
                decide.run();
            });
        }
        return decision;
    }

    private record RedlockTicket(AcquisitionId acquisition, List<@Nullable Ticket> tickets) implements Ticket {}
}
