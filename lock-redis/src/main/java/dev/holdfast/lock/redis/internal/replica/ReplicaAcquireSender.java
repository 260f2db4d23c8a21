package dev.holdfast.lock.redis.internal.replica;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.ReplicaPolicy;
import dev.holdfast.lock.redis.internal.backend.AcquireSender;
import dev.holdfast.lock.redis.internal.backend.RedisAttempt;
import dev.holdfast.lock.redis.internal.backend.ReplicaAcknowledgement;
import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.script.AttemptGenerations;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.ClientThreads;
import dev.holdfast.lock.spi.support.Timeouts;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Sends attempts together with WAIT, which blocks its connection until the replicas answer. An attempt that finds a free
 * connection, out of at most {@value #LANES}, has it for itself. The others stand in line, and all that do go together
 * over the connection that is free next, with one WAIT for what the one who stood there longest has left. So hung replicas
 * cost each attempt the wanted time once, however many attempts there are. Renewals and releases go over the main
 * connection and never wait for a replica.
 *
 * <p>Thread-safe. The lock guards the lines only; nothing is sent while it is held.
 */
public final class ReplicaAcquireSender implements AcquireSender {
    private static final BackgroundLog LOG = BackgroundLog.of(ReplicaAcquireSender.class);
    public static final int LANES = 16;

    private final ConnectionFactory factory;
    private final RedisCalls main;
    private final ReplicaAcknowledgement wanted;
    private final long memoryMillis;
    private final AttemptGenerations generations = new AttemptGenerations();
    private final Timeouts timeouts = new Timeouts();
    private final DegradedGrants degraded = new DegradedGrants();
    private final ReentrantLock lock = new ReentrantLock();
    private final Queue<ReplicaLane> free = new ArrayDeque<>();
    private final Set<ReplicaJob> waiting = new LinkedHashSet<>();
    private final List<ReplicaLane> all = new ArrayList<>();
    private int lanes;
    private boolean closed;

    /** Connects the first lane; blocks. */
    public ReplicaAcquireSender(
            ConnectionFactory factory, RedisCalls main, ReplicaAcknowledgement wanted, long memoryMillis) {
        this.factory = factory;
        this.main = main;
        this.wanted = wanted;
        this.memoryMillis = memoryMillis;
        lanes = 1;
        ReplicaLane first = open();
        all.add(first);
        free.add(first);
    }

    @Override
    public CompletableFuture<List<Object>> tryAcquire(RedisAttempt attempt, long timeoutMillis) {
        ReplicaJob job = new ReplicaJob(attempt, timeoutMillis);
        generations.begin(job.owner(), job.generation());
        CompletableFuture<List<Object>> answer = answer(job);
        ReplicaLane lane;
        boolean more = false;
        lock.lock();
        try {
            lane = free.poll();
            if (lane == null) {
                waiting.add(job);
                more = lanes < LANES && !closed;
                lanes += more ? 1 : 0;
            }
        } finally {
            lock.unlock();
        }
        if (lane != null) {
            run(lane, List.of(job));
            return answer;
        }
        timeouts.start(job.reply(), timeoutMillis);
        if (more) {
            ClientThreads.start("holdfast-redis-connect", this::openAnother, this::notOpened);
        }
        return answer;
    }

    /** What becomes of an attempt, wherever it is when its reply comes or its time has passed. */
    private CompletableFuture<List<Object>> answer(ReplicaJob job) {
        CompletableFuture<List<Object>> answer = new CompletableFuture<>();
        job.reply().whenComplete((reply, failure) -> {
            timeouts.cancel(job.reply());
            if (failure != null) {
                generations.takesBack(job.owner(), job.generation());
                answer.completeExceptionally(leftTheLine(job) ? notSent(job) : failure);
            } else if ((Long) reply.get(0) != 1) {
                generations.takesBack(job.owner(), job.generation());
                answer.complete(reply);
            } else {
                job.replicas()
                        .whenComplete((replicas, failed) -> judge(job, reply, failed == null ? replicas : -1, answer));
            }
        });
        return answer;
    }

    private boolean leftTheLine(ReplicaJob job) {
        lock.lock();
        try {
            return waiting.remove(job);
        } finally {
            lock.unlock();
        }
    }

    private static LockUnavailableException notSent(ReplicaJob job) {
        return new LockUnavailableException("the attempt was not sent within " + job.timeoutMillis()
                + " ms, because all connections wait for replicas or for the server; try again");
    }

    private void run(ReplicaLane lane, List<ReplicaJob> jobs) {
        long leftMillis = wanted.timeoutMillis();
        for (ReplicaJob job : jobs) {
            leftMillis = Math.min(leftMillis, job.leftMillis(wanted.timeoutMillis()));
        }
        lane.send(jobs, leftMillis).whenComplete((nothing, failure) -> next(lane));
    }

    private void judge(ReplicaJob job, List<Object> grant, long replicas, CompletableFuture<List<Object>> answer) {
        if (replicas >= wanted.replicas()) {
            grant(job, grant, answer);
            return;
        }
        String seen = (replicas < 0
                        ? "WAIT failed"
                        : replicas + " of " + wanted.replicas() + " replicas acknowledged the grant")
                + " within " + wanted.timeoutMillis() + " ms";
        if (wanted.policy() == ReplicaPolicy.DEGRADE) {
            degraded.note(job.lockKey(), seen);
            grant(job, grant, answer);
            return;
        }
        if (!generations.takesBack(job.owner(), job.generation())) {
            answer.completeExceptionally(new LockUnavailableException(seen + "; an earlier attempt had been granted"));
            return;
        }
        takeBack(
                job,
                grant,
                answer,
                new LockUnavailableException(
                        seen + "; the grant was taken back, look after the replicas and try again"));
    }

    private void grant(ReplicaJob job, List<Object> grant, CompletableFuture<List<Object>> answer) {
        String late = "the attempt was given up before it was granted; ";
        switch (generations.grants(job.owner(), job.generation())) {
            case GRANTED -> answer.complete(grant);
            case OVERTAKEN -> answer.completeExceptionally(new LockUnavailableException(late + "a later one decides"));
            case ENDED -> takeBack(job, grant, answer, new LockUnavailableException(late + "the grant was taken back"));
        }
    }

    /** Ends the grant of that attempt, unless a later one has been granted meanwhile; then the answer fails. */
    private void takeBack(
            ReplicaJob job,
            List<Object> grant,
            CompletableFuture<List<Object>> answer,
            LockUnavailableException failure) {
        String[] release =
                RedisScript.end(job.owner(), 0, Long.toString(memoryMillis), "grant", Long.toString(job.generation()));
        main.script(job.attempt().releaseScript(), job.attempt().keys().all(), release, job.timeoutMillis())
                .whenComplete((released, failed) -> answer.completeExceptionally(failure));
    }

    @Override
    public void ended(String owner) {
        generations.end(owner);
    }

    @Override
    public void takenBack(String owner, long generation) {
        generations.end(owner, generation);
    }

    private void next(ReplicaLane lane) {
        List<ReplicaJob> jobs;
        lock.lock();
        try {
            jobs = List.copyOf(waiting);
            waiting.clear();
            if (jobs.isEmpty()) {
                free.add(lane);
            }
        } finally {
            lock.unlock();
        }
        if (!jobs.isEmpty()) {
            run(lane, jobs);
        }
    }

    private void notOpened() {
        lock.lock();
        try {
            lanes--;
        } finally {
            lock.unlock();
        }
    }

    private void openAnother() {
        ReplicaLane lane;
        try {
            lane = open();
        } catch (RuntimeException | Error e) {
            LOG.debug("cannot connect another time; attempts wait for the connections that there are", e);
            notOpened();
            return;
        }
        boolean late;
        lock.lock();
        try {
            late = closed;
            all.add(lane);
        } finally {
            lock.unlock();
        }
        if (late) {
            lane.close();
        } else {
            next(lane);
        }
    }

    private ReplicaLane open() {
        return new ReplicaLane(factory, wanted.replicas());
    }

    @Override
    public void close() {
        List<ReplicaLane> open;
        List<ReplicaJob> unanswered;
        lock.lock();
        try {
            closed = true;
            open = List.copyOf(all);
            unanswered = List.copyOf(waiting);
            waiting.clear();
        } finally {
            lock.unlock();
        }
        open.forEach(ReplicaLane::close);
        degraded.sumUp();
        unanswered.forEach(job -> job.reply()
                .completeExceptionally(
                        new LockUnavailableException("the client was closed before the attempt was sent")));
    }
}
