package dev.holdfast.lock.redis;

import dev.holdfast.lock.LockUnavailableException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends attempts together with WAIT, which blocks its connection until the replicas answer. So each attempt has a
 * connection to itself for that time, out of at most {@value #LANES}; the others wait in line. Renewals and releases go
 * over the main connection and never wait for a replica.
 *
 * <p>Thread-safe. The lock guards the lines only; nothing is sent while it is held.
 */
final class ReplicaGranting implements RedisGranting {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicaGranting.class);
    private static final int LANES = 16;

    private final RedisSource source;
    private final RedisCalls main;
    private final ReplicaAcknowledgement wanted;
    private final long recordMillis;
    private final ReentrantLock lock = new ReentrantLock();
    private final Queue<RedisCalls> free = new ArrayDeque<>();
    private final Queue<Job> waiting = new ArrayDeque<>();
    private final List<RedisCalls> all = new ArrayList<>();
    private int lanes;
    private boolean closed;

    /** Connects the first lane; blocks. */
    ReplicaGranting(RedisSource source, RedisCalls main, ReplicaAcknowledgement wanted, long recordMillis) {
        this.source = source;
        this.main = main;
        this.wanted = wanted;
        this.recordMillis = recordMillis;
        lanes = 1;
        RedisCalls first = open();
        all.add(first);
        free.add(first);
    }

    @Override
    public CompletableFuture<List<Object>> attempt(RedisKeys keys, String[] args, long timeoutMillis) {
        Job job = new Job(keys, args, timeoutMillis, new CompletableFuture<>());
        RedisCalls lane;
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
            run(lane, job);
        } else if (more) {
            Thread thread = new Thread(this::openAnother, "holdfast-redis-connect");
            thread.setDaemon(true);
            thread.start();
        }
        return job.answer();
    }

    private void run(RedisCalls lane, Job job) {
        String[] keys = job.keys().all();
        RedisCalls.Replicated sent =
                lane.scriptAndWait(RedisScript.ATTEMPT, keys, job.args(), wanted, job.timeoutMillis());
        sent.reply().whenComplete((reply, failure) -> {
            if (failure != null) {
                job.answer().completeExceptionally(failure);
            } else if ((Long) reply.get(0) != 1) {
                job.answer().complete(reply);
            } else {
                sent.replicas().whenComplete((replicas, failed) -> judge(job, reply, failed == null ? replicas : -1));
            }
        });
        sent.replicas().whenComplete((replicas, failure) -> next(lane));
    }

    private void judge(Job job, List<Object> grant, long replicas) {
        if (replicas >= wanted.replicas()) {
            job.answer().complete(grant);
            return;
        }
        String seen = "lock key '" + job.keys().lock() + "': "
                + (replicas < 0
                        ? "WAIT failed"
                        : replicas + " of " + wanted.replicas() + " replicas acknowledged the grant")
                + " within " + wanted.timeoutMillis() + " ms";
        if (wanted.policy() == ReplicaPolicy.DEGRADE) {
            LOG.warn("{}; granted all the same, a failover now may lose it; look after the replicas", seen);
            job.answer().complete(grant);
            return;
        }
        String[] release = {job.args()[0], grant.get(1).toString(), Long.toString(recordMillis), "grant"};
        main.script(RedisScript.RELEASE, job.keys().all(), release, job.timeoutMillis())
                .whenComplete((released, failure) -> job.answer()
                        .completeExceptionally(new LockUnavailableException(
                                seen + "; the grant was taken back, look after the replicas and try again")));
    }

    private void next(RedisCalls lane) {
        Job job;
        lock.lock();
        try {
            job = waiting.poll();
            if (job == null) {
                free.add(lane);
            }
        } finally {
            lock.unlock();
        }
        if (job != null) {
            run(lane, job);
        }
    }

    private void openAnother() {
        RedisCalls lane;
        try {
            lane = open();
        } catch (RuntimeException e) {
            LOG.debug("cannot connect another time; attempts wait for the connections that there are", e);
            lock.lock();
            try {
                lanes--;
            } finally {
                lock.unlock();
            }
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

    private RedisCalls open() {
        return new RedisCalls(source);
    }

    @Override
    public void close() {
        List<RedisCalls> open;
        List<Job> unanswered;
        lock.lock();
        try {
            closed = true;
            open = List.copyOf(all);
            unanswered = List.copyOf(waiting);
            waiting.clear();
        } finally {
            lock.unlock();
        }
        open.forEach(RedisCalls::close);
        unanswered.forEach(job -> job.answer()
                .completeExceptionally(new LockUnavailableException(
                        "lock key '" + job.keys().lock() + "': the client was closed before the attempt was sent")));
    }

    private record Job(RedisKeys keys, String[] args, long timeoutMillis, CompletableFuture<List<Object>> answer) {}
}
