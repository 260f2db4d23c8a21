package dev.holdfast.lock.recipe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.Leadership;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.recipe.StandingElection.Surroundings;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How leaderships and candidacies end: when, on which threads, and how long callers wait for that. */
@Timeout(120)
class ElectionEndsTest extends PlannedElection {
    private static final Surroundings REAL = Surroundings.of(lease -> Duration.ZERO);

    /** Sets the remaining lease at each check; the last value is kept. Returns the observed values. */
    private List<Duration> looks(Duration... left) {
        List<Duration> seen = new CopyOnWriteArrayList<>();
        lease.whileLooked = any -> {
            lease.remaining = left[Math.min(seen.size(), left.length - 1)];
            seen.add(lease.remaining);
        };
        return seen;
    }

    /** A thread for a role cannot be started, for the given number of times. */
    private static Surroundings without(String role, int times) {
        AtomicInteger left = new AtomicInteger(times);
        return new Surroundings(
                REAL.patienceMillis(),
                REAL.nanos(),
                thread -> {
                    if (thread.getName().endsWith(role) && left.getAndDecrement() > 0) {
                        throw new OutOfMemoryError("on purpose");
                    }
                    thread.start();
                },
                REAL.lengths());
    }

    @ParameterizedTest
    @CsvSource({"PT7S, PT7S", ", PT20S"})
    void leader_isInterrupted_whenOnlyTheTimeToStopIsLeft_aThirdOfTheLeaseIfNotSaid(
            @Nullable Duration said, Duration stopTime) {
        List<Duration> seen = looks(Duration.ofMinutes(1), stopTime.plusNanos(1_000), stopTime);
        answers.add(() -> lease);
        Election.Builder builder = Recipes.election(locks.client(), "n")
                .options(LockOptions.builder().lease(Duration.ofMinutes(1)).build())
                .onElected(leadership -> untilInterrupted());
        started.set((said == null ? builder : builder.stopTime(said)).start());

        await(lease::isClosed);
        assertThat(seen).containsExactly(Duration.ofMinutes(1), stopTime.plusNanos(1_000), stopTime);
        assertThat(log.warnings()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "PT0S, PT1S",
        "PT0.999999999S, PT1S",
        "PT1.5S, PT1.5S",
        "PT8760H, PT8760H",
        "PT8760H0.000000001S, PT8760H",
        "PT2562047788015215H, PT8760H"
    })
    void leader_thatYields_leadsNoMore_andPausesForThatTime_fromASecondToAYear(Duration asked, Duration kept) {
        answers.add(() -> lease);
        CompletableFuture<Leadership> leads = new CompletableFuture<>();
        CountDownLatch mayEnd = new CountDownLatch(1);
        StandingElection election = (StandingElection) stand(
                leadership -> {
                    leads.complete(leadership);
                    endless(mayEnd).call(leadership);
                },
                leadership -> {});
        Leadership leadership = leads.join();

        assertThat(election.yield(asked)).isTrue();
        await(() -> !leadership.isValid());
        assertThat(lease.isValid()).as("while the callback runs").isTrue();
        assertThat(election.isLeader()).isFalse();
        assertThat(election.yield(Duration.ofHours(1))).isFalse();
        assertThat(Duration.ofNanos(election.takePauseNanos())).isEqualTo(kept);
        answers.add(() -> {
            throw new IllegalStateException("on purpose");
        });
        mayEnd.countDown();
        await(() -> !log.warnings().isEmpty()); // the first failure: a resignation does not count as one
        assertThat(reported).containsExactly("elected", "revoked");
    }

    @Test
    void election_saysWhetherItLeads_andDoesNotYieldIfNot() {
        StandingElection election = (StandingElection) stand(leadership -> {}, leadership -> {});
        assertThatIllegalArgumentException()
                .isThrownBy(() -> election.yield(Duration.ofNanos(-1)))
                .withMessage("election 'n': the pause must not be negative, got PT-0.000000001S");
        assertThat(election.yield(Duration.ofHours(1))).isFalse();
        assertThat(election.takePauseNanos()).isZero();
        assertThat(election).hasToString("Election[n]");
        assertThat(election.name()).isEqualTo("n");

        answers.add(() -> lease);
        await(() -> reported.size() == 1);

        assertThat(election).hasToString("Election[n, leader]");
        assertThat(REAL.patienceMillis())
                .as("until the running callback is logged")
                .isEqualTo(10_000);
    }

    /** No loss is reported, and the next check is far away: only the call of isLeader detects the end. */
    @Test
    void leader_whoseLeaseAnybodySeesInvalid_isInterruptedAtOnce_andPausesBeforeTheNextTime() {
        answers.add(() -> lease);
        Election election = stand(leadership -> untilInterrupted(), leadership -> {});
        await(() -> reported.size() == 1 && standsStill(thread()));
        lease.end();

        assertThat(election.isLeader()).isFalse();

        await(() -> askedAt.size() == 2);
        assertThat(reported).containsExactly("elected", "revoked");
        assertThat(nanosWithoutStanding()).isGreaterThanOrEqualTo(50_000_000);
        assertThat(log.warnings()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"60000000000, false", "60000000001, true"})
    void leadership_thatIsLost_isAFailure_unlessItLastedForMoreThanAMinute(long nanos, boolean nextIsTheFirst) {
        Callable<Lease> fails = () -> {
            throw new IllegalStateException("on purpose");
        };
        answers.add(fails);
        answers.add(() -> lease);
        AtomicInteger looks = new AtomicInteger();
        stand(
                recording("elected", leadership -> {}),
                recording("revoked", leadership -> {}),
                STOP,
                new Surroundings(
                        REAL.patienceMillis(),
                        () -> looks.getAndIncrement() == 0 ? -5 : nanos - 5,
                        REAL.starter(),
                        REAL.lengths()));
        await(() -> reported.size() == 1);
        answers.add(fails);
        lease.end();
        lease.lost.complete(LossReason.EXPIRED);

        await(() -> askedAt.size() == 4); // so the failure has been handled
        assertThat(log.warnings()).as("the first failure of several is logged").hasSize(nextIsTheFirst ? 2 : 1);
    }

    @Test
    void leader_thatFails_isRevoked_andLeadsForAsLongAsAnyTheNextTime() {
        answers.add(() -> lease);
        answers.add(() -> new PlannedLease("n"));
        Election election = stand(
                leadership -> {
                    if (reported.size() == 1) {
                        throw new StackOverflowError("on purpose");
                    }
                },
                leadership -> {});

        await(() -> reported.size() == 3 && standsStill(thread()));
        assertThat(reported).containsExactly("elected", "revoked", "elected");
        assertThat(election.isLeader()).isTrue();
        assertThat(nanosWithoutStanding()).isGreaterThanOrEqualTo(50_000_000);
        assertThat(log.warnings()).containsExactly("election 'n' (token 7): onElected failed; this leader resigns");
        assertThat(log.text()).contains("StackOverflowError: on purpose");
    }

    @Test
    void onRevoked_thatFails_isLogged_andCountsAsAFailureOfTheLeader() {
        answers.add(() -> lease);
        CountDownLatch mayEnd = new CountDownLatch(1);
        StandingElection election = (StandingElection) stand(endless(mayEnd), leadership -> {
            throw new IOException("on purpose");
        });
        await(() -> reported.size() == 1);
        assertThat(election.yield(Duration.ZERO)).isTrue();
        assertThat(election.takePauseNanos())
                .as("the pause is not used in this test")
                .isPositive();
        mayEnd.countDown();

        await(() -> askedAt.size() == 2);
        assertThat(nanosWithoutStanding()).isGreaterThanOrEqualTo(50_000_000);
        assertThat(log.warnings()).containsExactly("election 'n' (token 7): onRevoked failed; this leader resigns");
        assertThat(log.text()).contains("IOException: on purpose");
    }

    @Test
    void callbacks_runOnDaemonThreadsOfTheirOwn() {
        List<String> threads = new CopyOnWriteArrayList<>();
        Runnable where = () -> {
            Thread here = Thread.currentThread();
            threads.add(here.getName() + (here.isDaemon() ? "" : " keeps the process alive"));
        };
        answers.add(() -> {
            where.run();
            return lease;
        });
        Election election = stand(leadership -> where.run(), leadership -> where.run());
        await(() -> threads.size() == 2);

        assertTimeoutPreemptively(Duration.ofSeconds(10), election::close);

        assertThat(threads)
                .containsExactly("holdfast-election-n", "holdfast-election-n-leader", "holdfast-election-n-revoked");
    }

    @Test
    void leader_forWhomNoThreadCanBeHad_isNone_andTheElectionStandsAgain() {
        answers.add(() -> lease);
        answers.add(() -> new PlannedLease("n"));
        Election election = stand(
                recording("elected", leadership -> {}),
                recording("revoked", leadership -> {}),
                STOP,
                without("-leader", 1));

        await(() -> reported.size() == 1 && standsStill(thread()));
        assertThat(election.isLeader()).isTrue();
        assertThat(lease.closedAt).hasSize(1);
        assertThat(reported).containsExactly("elected");
        assertThat(nanosWithoutStanding()).isGreaterThanOrEqualTo(50_000_000);
        assertThat(log.warnings())
                .containsExactly("election 'n': failed, and stands again: java.lang.OutOfMemoryError: on purpose");
    }

    /** Called by the election's own thread, which would otherwise wait for itself. */
    @Test
    void onRevoked_forWhichNoThreadCanBeHad_isCalledAllTheSame_andMayCloseTheElection() {
        answers.add(() -> lease);
        Election election = stand(
                recording("elected", leadership -> untilInterrupted()),
                recording("revoked", leadership -> {
                    started.get().close();
                    reported.add("closed");
                }),
                STOP,
                without("-revoked", 1));
        await(() -> reported.size() == 1);
        assertThat(election.yield(Duration.ZERO)).isTrue();

        await(() -> thread() == null);
        assertThat(reported).containsExactly("elected", "revoked", "closed");
        assertThat(lease.closedAt).hasSize(1);
    }

    /** Any exception of a wrapped client's lease, which would otherwise end the candidacy silently. */
    @Test
    void lock_thatCannotBeReleased_isLogged_andTheElectionStandsAgain() {
        PlannedLease next = new PlannedLease("n");
        lease.whileClosed = any -> {
            throw new IllegalStateException("on purpose");
        };
        next.whileClosed = any -> {
            throw new StackOverflowError("on purpose");
        };
        answers.add(() -> lease);
        answers.add(() -> next);
        AtomicLong nanos = new AtomicLong();
        stand(
                leadership -> {
                    PlannedLease led = lease.isClosed() ? next : lease;
                    led.end();
                    led.lost.complete(LossReason.EXPIRED);
                },
                leadership -> {},
                STOP,
                new Surroundings(
                        REAL.patienceMillis(),
                        () -> nanos.addAndGet(Duration.ofHours(1).toNanos()),
                        REAL.starter(),
                        REAL.lengths()));

        await(() -> askedAt.size() == 3);
        assertThat(log.warnings())
                .hasSize(2)
                .containsOnly("election 'n' (token 7): the lock was not released; it ends with its lease");
    }

    @Test
    void close_whenTheLockHasCome_andTheLeaderIsNotCalledYet_nobodyLeads() {
        lease.whileLooked = any -> {
            lease.whileLooked = later -> {};
            Thread closing = new Thread(() -> started.get().close());
            closing.start();
            await(() -> standsStill(closing));
        };
        answers.add(() -> lease);
        stand(recording("elected", leadership -> {}), recording("revoked", leadership -> {}), STOP, REAL);

        await(() -> thread() == null);
        assertThat(reported).isEmpty();
        assertThat(lease.closedAt).hasSize(1);
    }

    @Test
    void suspendedElection_resigns_andStandsAgainWhenItIsResumed() {
        answers.add(() -> lease);
        Election election = stand(leadership -> untilInterrupted(), leadership -> {});
        await(() -> reported.size() == 1);

        assertTimeoutPreemptively(Duration.ofSeconds(10), election::suspend);

        assertThat(reported).containsExactly("elected", "revoked");
        assertThat(lease.isClosed()).isTrue();
        PlannedLease next = new PlannedLease("n");
        answers.add(() -> next);
        assertThat(election.isLeader()).isFalse();
        assertThat(askedAt).hasSize(1);
        election.resume();
        await(() -> reported.size() == 3);
        assertThat(election.isLeader()).isTrue();
    }

    @Test
    void suspendedElection_thatWaits_leavesTheQueue_andCanBeClosed() {
        Election election = stand(leadership -> {}, leadership -> {});
        await(() -> askedAt.size() == 1);

        assertTimeoutPreemptively(Duration.ofSeconds(10), election::suspend);
        answers.add(() -> lease);
        assertTimeoutPreemptively(Duration.ofSeconds(10), election::close);

        await(() -> thread() == null);
        assertThat(reported).isEmpty();
        assertThat(askedAt).hasSize(1);
    }

    @Test
    void close_duringAPause_endsIt() {
        answers.add(() -> lease);
        Election election = stand(leadership -> untilInterrupted(), leadership -> {});
        await(() -> reported.size() == 1);
        assertThat(election.yield(Duration.ofDays(1))).isTrue();
        await(() -> lease.isClosed() && standsStill(thread()));

        assertTimeoutPreemptively(Duration.ofSeconds(10), election::close);

        assertThat(askedAt).hasSize(1);
        assertThat(log.warnings()).as("for an interrupted callback").isEmpty();
    }

    @Test
    void close_ofAnElectionThatHasEnded_returnsAtOnce_asOftenAsItIsCalled() {
        answers.add(() -> {
            throw new LockClosedException("the client was closed");
        });
        Election election = stand(leadership -> {}, leadership -> {});
        await(() -> thread() == null);

        assertTimeoutPreemptively(Duration.ofSeconds(10), election::close);
        assertTimeoutPreemptively(Duration.ofSeconds(10), election::close);
        assertThat(log.warnings()).isEmpty();
    }

    @Test
    void close_waitsForTheTimeToStop_andNoLonger() {
        answers.add(() -> lease);
        CountDownLatch mayEnd = new CountDownLatch(1);
        Election election = stand(
                recording("elected", endless(mayEnd)),
                recording("revoked", leadership -> {}),
                Duration.ofMillis(30),
                REAL);
        await(() -> reported.size() == 1);

        long startNanos = System.nanoTime();
        assertTimeoutPreemptively(Duration.ofSeconds(10), election::close);

        assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(30_000_000);
        assertThat(reported).containsExactly("elected");
        assertThat(lease.isClosed()).isFalse();
        mayEnd.countDown();
        await(() -> thread() == null);
        assertThat(reported).containsExactly("elected", "revoked");
        assertThat(lease.isClosed()).isTrue();
    }

    @Test
    void close_interrupted_returns_andKeepsTheInterrupt() throws InterruptedException {
        answers.add(() -> lease);
        CountDownLatch mayEnd = new CountDownLatch(1);
        Election election = stand(endless(mayEnd), leadership -> {});
        await(() -> reported.size() == 1);
        AtomicBoolean kept = new AtomicBoolean();
        Thread closing = new Thread(() -> {
            election.close();
            kept.set(Thread.currentThread().isInterrupted());
        });
        closing.start();
        await(() -> standsStill(closing));
        closing.interrupt();

        closing.join(PATIENCE.toMillis());
        assertThat(closing.isAlive()).isFalse();
        assertThat(kept).isTrue();
        assertThat(lease.isClosed()).isFalse();
        mayEnd.countDown();
        await(() -> thread() == null);
    }

    @Test
    void leaseThatCannotBeKept_completesLost_andAResignationDoesNot() {
        CompletableFuture<LossReason> resigned = new CompletableFuture<>();
        CompletableFuture<LossReason> lost = new CompletableFuture<>();
        List<CompletableFuture<LossReason>> stages = new ArrayList<>(List.of(resigned, lost));
        PlannedLease second = new PlannedLease("n");
        Election election = stand(
                leadership -> {
                    leadership.lost().thenAccept(stages.remove(0)::complete);
                    untilInterrupted();
                },
                leadership -> {},
                STOP,
                REAL);
        answers.add(() -> lease);
        await(election::isLeader);
        election.yield(Duration.ofSeconds(1));
        await(() -> lease.isClosed());
        AtomicInteger looks = new AtomicInteger();
        second.whileLooked = looked -> {
            if (looks.incrementAndGet() > 1) {
                looked.remaining = STOP.dividedBy(2); // no renewal is confirmed
            }
        };
        answers.add(() -> second);

        await(lost::isDone);
        assertThat(lost).isCompletedWithValue(LossReason.EXPIRED);
        assertThat(resigned).isNotDone();
    }

    @Test
    void awaitLeadership_returnsWhenElected_orWhenItsTimeIsOver_andFailsWhenTheElectionIsClosed() throws Exception {
        Election election = stand(leadership -> untilInterrupted(), leadership -> {}, STOP, REAL);
        assertThat(election.awaitLeadership(Duration.ofMillis(10))).isFalse();
        CompletableFuture<Boolean> waiting = CompletableFuture.supplyAsync(() -> {
            try {
                return election.awaitLeadership(Duration.ofDays(1000));
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        answers.add(() -> lease);
        assertThat(waiting.get(20, TimeUnit.SECONDS)).isTrue();

        election.close();
        assertThatThrownBy(() -> election.awaitLeadership(Duration.ofSeconds(20)))
                .isInstanceOf(LockClosedException.class)
                .hasMessage("election 'n': it is closed; start another one");
    }
}
