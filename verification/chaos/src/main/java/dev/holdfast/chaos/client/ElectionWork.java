package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.lock.Election;
import dev.holdfast.lock.Leadership;
import dev.holdfast.lock.LockOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A candidate of an election that each process has one for: leads until it is interrupted, yields, fails, or returns and goes
 * on leading; now and then it is closed, and another one stands. Each leadership is an operation, from when its candidate
 * began to stand. The worker's thread starts and ends; all else is done by the callbacks, which never run at the same time.
 */
final class ElectionWork implements Work {
    private static final long STEP_MILLIS = 5;
    private static final long LOOK_MILLIS = 20;
    private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(3);
    /** Only who leads for long can lose its lease. */
    private static final int LONG_PERCENT = 30;

    private static final long TOLD_MILLIS = 2_000;
    private static final long MIN_REST_MILLIS = 1_000;

    /** A candidate that fails or loses its lease backs off for a time of its own choice. */
    private static final long UNKNOWN_REST_MILLIS = 10_000;

    /** The leadership that began last, and whether it ends because its leader wants that. */
    private static final class Term {
        final Hold hold;
        final Leadership leadership;
        volatile long restMillis = UNKNOWN_REST_MILLIS;
        volatile boolean resigned;

        Term(Hold hold, Leadership leadership) {
            this.hold = hold;
            this.leadership = leadership;
        }

        boolean confirm() {
            long nanos = System.nanoTime();
            if (leadership.isValid()) {
                hold.confirmed(nanos);
                return true;
            }
            hold.invalid();
            return false;
        }
    }

    private final WorkerContext bench;
    private final int name;
    private final SplittableRandom random;
    private final AtomicInteger callbacks = new AtomicInteger();
    private volatile @Nullable Term term;
    private volatile @Nullable Hold standing;
    private volatile @Nullable Election election;

    ElectionWork(WorkerContext bench) {
        this.bench = bench;
        this.name = bench.thread() % bench.config().names();
        this.random = bench.random().split();
    }

    @Override
    public void step() throws InterruptedException {
        Election candidate = election;
        if (candidate == null) {
            candidate = start();
        }
        long start = System.nanoTime();
        long nanos = TimeUnit.MILLISECONDS.toNanos(bench.random().nextInt(200, 2_000));
        while (System.nanoTime() - start < nanos) {
            Term now = term;
            if (now != null) {
                now.confirm();
            }
            Thread.sleep(LOOK_MILLIS);
        }
        int percent = bench.random().nextInt(100);
        if (percent < 8) {
            close();
        } else if (percent < 25) {
            resign(candidate, bench.random().nextInt(1_500));
        }
    }

    private Election start() {
        standing = bench.hold(name, OpKind.LOCK);
        LockOptions options = LockOptions.builder()
                .lease(Duration.ofMillis(bench.config().leaseMillis()))
                .build();
        Election started = bench.client()
                .election(ClientConfig.lockName(name))
                .options(options)
                .onElected(this::lead)
                .onRevoked(this::revoked)
                .start();
        election = started;
        return started;
    }

    private void resign(Election candidate, long restMillis) {
        Term now = term;
        if (now != null) {
            now.restMillis = Math.max(MIN_REST_MILLIS, restMillis);
            now.resigned = true;
            if (!candidate.yield(Duration.ofMillis(restMillis))) {
                now.resigned = false;
                now.restMillis = UNKNOWN_REST_MILLIS;
            }
        }
    }

    private void lead(Leadership leadership) throws IOException, InterruptedException {
        Hold hold = standing == null ? bench.hold(name, OpKind.LOCK) : standing;
        hold.acquired(System.nanoTime(), leadership.token(), leadership.lost());
        Term now = new Term(hold, leadership);
        enter(hold);
        term = now;
        try {
            rule(now);
        } catch (InterruptedException e) {
            hold.told();
            throw e;
        } finally {
            callbacks.decrementAndGet();
        }
    }

    private void enter(Hold hold) {
        if (callbacks.incrementAndGet() > 1) {
            hold.together();
        }
    }

    private void rule(Term now) throws IOException, InterruptedException {
        now.confirm();
        long token = now.leadership.token();
        RegisterClient.Seen seen = bench.register().read(name, token, bench.holder(now.hold));
        long start = System.nanoTime();
        long millis = Math.max(ruleMillis(), seen.stayMillis());
        try {
            while (now.confirm() && System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(millis)) {
                Thread.sleep(STEP_MILLIS);
            }
        } finally {
            bench.register().write(name, token, bench.holder(now.hold), seen);
        }
        int percent = random.nextInt(100);
        Election candidate = election;
        if (!now.confirm() || percent < 50 && candidate != null) {
            if (candidate != null) {
                resign(candidate, random.nextInt(1_500));
            }
            awaitInterrupt(now);
        } else if (percent < 65) {
            now.resigned = true;
            throw new IllegalStateException("a leader that fails");
        }
    }

    /** A leader that goes on until it is asked to stop. */
    private static void awaitInterrupt(Term now) throws InterruptedException {
        long start = System.nanoTime();
        while (System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(TOLD_MILLIS)) {
            now.confirm();
            Thread.sleep(STEP_MILLIS);
        }
    }

    private long ruleMillis() {
        return random.nextInt(100) < LONG_PERCENT ? bench.aroundLease(250) : random.nextInt(20, 400);
    }

    private void revoked(Leadership leadership) throws InterruptedException {
        Term last = term;
        Hold hold = last != null && last.leadership.token() == leadership.token()
                ? last.hold
                : bench.hold(name, OpKind.LOCK);
        hold.revoked();
        hold.release();
        enter(hold);
        try {
            Thread.sleep(random.nextInt(10));
        } finally {
            boolean resigned = last != null
                    && last.resigned
                    && !leadership.lost().toCompletableFuture().isDone();
            hold.released(resigned ? Outcome.OK : Outcome.LOST);
            callbacks.decrementAndGet();
            Hold next = bench.hold(name, OpKind.LOCK);
            next.rests(last == null ? UNKNOWN_REST_MILLIS : last.restMillis);
            standing = next;
            term = null;
        }
    }

    @Override
    public void close() throws InterruptedException {
        Election candidate = election;
        if (candidate == null) {
            return;
        }
        Term now = term;
        if (now != null) {
            now.resigned = true;
        }
        candidate.close();
        election = null;
        long start = System.nanoTime();
        while (term != null && System.nanoTime() - start < CLOSE_NANOS) {
            Thread.sleep(STEP_MILLIS);
        }
        Hold unserved = standing;
        if (unserved != null) {
            unserved.failed(Outcome.CANCELLED);
        }
    }
}
