package dev.holdfast.lock.recipe;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.recipe.StandingElection.Surroundings;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

/**
 * A test of an election that gets its lock when the test grants it. Leases last a minute, so nothing that happens within
 * seconds is caused by their expiry.
 */
abstract class PlannedElection {
    static final Duration STOP = Duration.ofSeconds(30);
    static final Duration PATIENCE = Duration.ofSeconds(20);

    /** The lock's answers, in order; without any, the election waits. */
    final BlockingQueue<Callable<Lease>> answers = new LinkedBlockingQueue<>();

    final List<Long> askedAt = new CopyOnWriteArrayList<>();
    final List<String> reported = new CopyOnWriteArrayList<>();
    final PlannedLease lease = new PlannedLease("n");
    final PlannedLocks locks = new PlannedLocks((name, timeout) -> {
        askedAt.add(System.nanoTime());
        return answer(answers.take());
    });
    final AtomicReference<Election> started = new AtomicReference<>();
    final ElectionLog log = new ElectionLog();

    private static Lease answer(Callable<Lease> planned) throws InterruptedException {
        try {
            return planned.call();
        } catch (RuntimeException | InterruptedException e) {
            throw e;
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @AfterEach
    void end() {
        answers.add(() -> {
            throw new LockClosedException("the test has ended");
        });
        Election election = started.get();
        if (election != null) {
            new Thread(election::close).start(); // close waits for callbacks that a test has left running
        }
        try {
            await(() -> thread() == null);
        } finally {
            log.close();
        }
    }

    /** Starts an election; its callbacks are recorded before they run. */
    final Election stand(Election.Callback elected, Election.Callback revoked) {
        Election election = Recipes.election(locks.client(), "n")
                .options(LockOptions.builder().lease(Duration.ofMinutes(1)).build())
                .stopTime(STOP)
                .onElected(recording("elected", elected))
                .onRevoked(recording("revoked", revoked))
                .start();
        started.set(election);
        return election;
    }

    /** Starts an election in the test's surroundings. */
    final StandingElection stand(
            Election.Callback elected, Election.Callback revoked, Duration stopTime, Surroundings surroundings) {
        LockClient client = locks.client();
        StandingElection election =
                new StandingElection(client, client.lock("n"), elected, revoked, stopTime, surroundings);
        started.set(election);
        return election.start();
    }

    final Election.Callback recording(String what, Election.Callback then) {
        return leadership -> {
            reported.add(what);
            then.call(leadership);
        };
    }

    /** Ignores interrupts until the latch is open. */
    static Election.Callback endless(CountDownLatch mayEnd) {
        return leadership -> {
            try {
                untilInterrupted();
            } catch (InterruptedException e) {
                mayEnd.await();
            }
        };
    }

    static void untilInterrupted() throws InterruptedException {
        new CountDownLatch(1).await();
    }

    static void await(Callable<Boolean> condition) {
        Awaitility.await().atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(condition);
    }

    static boolean standsStill(@Nullable Thread thread) {
        return thread != null && thread.getState() == Thread.State.TIMED_WAITING;
    }

    /** The thread of the election; null when it has ended. */
    static @Nullable Thread thread() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("holdfast-election-n"))
                .findFirst()
                .orElse(null);
    }

    /** How long the election did not stand after the first lease. */
    final long nanosWithoutStanding() {
        return askedAt.get(1) - lease.closedAt.get(0);
    }
}
