package dev.holdfast.lock.recipe;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.recipe.StandingElection.Surroundings;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The steps of an election, in order. */
@Timeout(120)
class StandingElectionTest extends PlannedElection {

    @Test
    void leader_whoseLeaseIsLost_isInterruptedAtOnce_howeverLongItSeemedToLast() throws InterruptedException {
        CountDownLatch interrupted = new CountDownLatch(1);
        answers.add(() -> lease);
        stand(
                leadership -> {
                    try {
                        untilInterrupted();
                    } finally {
                        interrupted.countDown();
                    }
                },
                leadership -> {});
        await(() -> reported.size() == 1 && standsStill(thread()));

        lease.end();
        lease.lost.complete(LossReason.REVOKED);

        assertThat(interrupted.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        await(() -> reported.size() == 2 && lease.isClosed());
        assertThat(reported).containsExactly("elected", "revoked");
        await(() -> askedAt.size() == 2); // it stands again
    }

    /** A newline would forge a line of the log, an escape sequence or a change of direction what a terminal shows of it. */
    @Test
    void nameWithControlCharacters_isEscapedInLogs_threadNamesAndMessages() {
        String name = "n\n2026 ERROR forged \u001b[31m\u202e";
        String shown = LockName.printable(name);
        answers.add(() -> {
            throw new IllegalStateException("on purpose");
        });
        answers.add(() -> new PlannedLease(name));
        CountDownLatch leads = new CountDownLatch(1);
        StandingElection election = new StandingElection(
                locks.client(),
                locks.client().lock(name),
                leadership -> {
                    reported.add(Thread.currentThread().getName() + leadership);
                    leads.countDown();
                },
                leadership -> {},
                STOP,
                Surroundings.of(lease -> Duration.ZERO));
        started.set(election);
        election.start();
        await(() -> leads.getCount() == 0);

        assertThat(shown).doesNotContain("\n", "\u001b", "\u202e");
        assertThat(log.warnings()).hasSize(1).first().asString().startsWith("election '" + shown + "': failed");
        assertThat(reported).first().asString().contains("holdfast-election-" + shown, "Leadership[" + shown);
        assertThat(election.toString()).startsWith("Election[" + shown);
        assertThat(election.name()).isEqualTo(name);
    }

    @Test
    void leader_thatYields_keepsASecond_andLeadsForAsLongAsBeforeAfterIt() {
        answers.add(() -> lease);
        CountDownLatch first = new CountDownLatch(1);
        Election election = stand(
                leadership -> {
                    if (reported.size() == 1) {
                        first.countDown();
                        untilInterrupted();
                    }
                },
                leadership -> {});
        await(() -> first.getCount() == 0);

        assertThat(election.yield(Duration.ZERO)).isTrue();
        await(() -> askedAt.size() == 2);
        assertThat(askedAt.get(1) - lease.closedAt.get(0))
                .as("nanoseconds without standing")
                .isGreaterThan(999_999_999);
        assertThat(((StandingElection) election).takePauseNanos())
                .as("nanoseconds left for a later term")
                .isZero();
        answers.add(() -> new PlannedLease("n"));
        await(() -> reported.size() == 3 && standsStill(thread()));

        assertThat(election.isLeader()).isTrue();
        assertThat(reported).containsExactly("elected", "revoked", "elected");
    }

    @Test
    void candidate_thatFails_standsAgainAfterAPause_whichDoubles() {
        answers.add(() -> {
            throw new LockUnavailableException("on purpose");
        });
        answers.add(() -> {
            throw new StackOverflowError("on purpose");
        });
        stand(leadership -> {}, leadership -> {});
        await(() -> askedAt.size() == 3);

        assertThat(askedAt.get(1) - askedAt.get(0)).as("nanoseconds").isGreaterThanOrEqualTo(50_000_000);
        assertThat(askedAt.get(2) - askedAt.get(1)).as("nanoseconds").isGreaterThanOrEqualTo(100_000_000);
        assertThat(log.warnings())
                .containsExactly("election 'n': failed, and stands again: "
                        + "dev.holdfast.lock.LockUnavailableException: on purpose");
    }

    @Test
    void backOff_isAboutATenthOfASecondAtFirst_andNeverTwiceTheSame() {
        for (int failures = 1; failures <= 7; failures++) {
            int number = failures;
            List<Long> waits = LongStream.generate(() -> StandingElection.backOffNanos(number))
                    .limit(50)
                    .boxed()
                    .toList();
            long millis = 100L << failures - 1;
            assertThat(waits)
                    .as("nanoseconds after %d failures", failures)
                    .allMatch(nanos -> nanos >= millis * 500_000 && nanos < millis * 1_500_000);
            assertThat(Set.copyOf(waits))
                    .as("back-offs of candidates that fail together differ")
                    .hasSizeGreaterThan(40);
        }
    }

    /** Unbounded doubling would reach days after half an hour, and finally overflow. */
    @Test
    void backOff_isBounded_howeverOftenItFails() {
        for (int failures = 7; failures < 200; failures++) {
            assertThat(StandingElection.backOffNanos(failures))
                    .as("nanoseconds after %d failures", failures)
                    .isBetween(
                            Duration.ofMillis(3_200).toNanos(),
                            Duration.ofMillis(9_600).toNanos());
        }
    }

    /** This lease is not renewed: the test sets its remaining time, and it is valid to the end. */
    @Test
    void leader_whoseLeaseIsInDanger_isInterrupted_whileItIsValidYet() {
        lease.remaining = Duration.ofMillis(200); // the stop time is half of it
        CountDownLatch began = new CountDownLatch(1);
        answers.add(() -> lease);
        stand(
                leadership -> {
                    began.countDown();
                    untilInterrupted();
                },
                leadership -> {});
        await(() -> began.getCount() == 0);
        assertThat(reported).containsExactly("elected");

        lease.remaining = Duration.ofMillis(100);

        await(() -> reported.size() == 2 && lease.isClosed());
        assertThat(lease.valid).isTrue();
    }

    @Test
    void callback_thatDoesNotEnd_keepsTheLock_andIsTheOnlyOne_evenWhenThatHasBeenLogged() {
        CountDownLatch interrupted = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        Election.Callback endless = leadership -> {
            reported.add("elected");
            try {
                untilInterrupted();
            } catch (InterruptedException e) {
                interrupted.countDown();
                mayEnd.await();
            }
            reported.add("returned");
        };
        answers.add(() -> lease);
        Election election = stand(
                endless,
                leadership -> reported.add("revoked"),
                STOP,
                new Surroundings(1, System::nanoTime, Thread::start, lease -> Duration.ZERO));
        await(() -> reported.size() == 1);

        assertThat(election.yield(Duration.ZERO)).isTrue();
        await(() -> interrupted.getCount() == 0 && !log.warnings().isEmpty());
        AtomicInteger looks = new AtomicInteger();
        await(() -> standsStill(thread()) && looks.incrementAndGet() > 3);
        assertThat(reported).containsExactly("elected");
        assertThat(lease.isClosed()).isFalse();
        assertThat(log.warnings())
                .containsExactly(
                        "election 'n' (token 7): the leadership has ended, but its callback still runs; until it"
                                + " returns, this process does not stand again; let it end when it is interrupted");
        mayEnd.countDown();

        await(lease::isClosed);
        assertThat(reported).containsExactly("elected", "returned", "revoked");
    }

    @Test
    void election_whoseClientIsClosed_ends() {
        answers.add(() -> {
            throw new LockClosedException("the client was closed");
        });
        stand(leadership -> {}, leadership -> {});

        await(() -> askedAt.size() == 1 && thread() == null);
        assertThat(reported).isEmpty();
    }

    @Test
    void close_endsTheWaitForTheLock() {
        Election election = stand(leadership -> {}, leadership -> {});
        await(() -> askedAt.size() == 1);

        election.close();

        await(() -> thread() == null);
        assertThat(reported).isEmpty();
    }

    @Test
    void close_whileTheLockComes_releasesIt_andNobodyLeads() throws InterruptedException {
        endWhileTheLockComes(Election::close);

        await(() -> thread() == null);
        assertThat(lease.closedAt).hasSize(1);
        assertThat(reported).isEmpty();
    }

    @Test
    void suspend_whileTheLockComes_releasesIt_andNobodyLeads() throws InterruptedException {
        endWhileTheLockComes(Election::suspend);

        assertThat(lease.closedAt).hasSize(1);
        assertThat(reported).isEmpty();
    }

    /** The lock's answer is too late for the interrupt that ends the wait. Returns when the call of the end has returned. */
    private void endWhileTheLockComes(Consumer<Election> end) throws InterruptedException {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch comes = new CountDownLatch(1);
        answers.add(() -> {
            asked.countDown();
            while (comes.getCount() > 0) {
                try {
                    comes.await();
                } catch (InterruptedException tooLate) {
                    // the answer has not arrived yet
                }
            }
            return lease;
        });
        Election election = stand(leadership -> {}, leadership -> {});
        asked.await();
        Thread ending = new Thread(() -> end.accept(election));
        ending.start();
        await(() -> standsStill(ending));
        comes.countDown();
        ending.join();
    }

    @Test
    void close_waitsForTheCallbacks() throws InterruptedException {
        answers.add(() -> lease);
        CountDownLatch elected = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        Election election = stand(
                leadership -> {
                    elected.countDown();
                    untilInterrupted();
                },
                leadership -> mayEnd.await());
        elected.await();
        Thread closing = new Thread(election::close);
        closing.start();
        await(() -> reported.size() == 2 && standsStill(closing));
        assertThat(lease.isClosed()).isFalse();
        mayEnd.countDown();
        closing.join();

        assertThat(lease.isClosed()).isTrue();
        assertThat(reported).containsExactly("elected", "revoked");
    }

    /** Otherwise it would wait for its own end. */
    @Test
    void close_byTheCallbackItself_doesNotWait() throws InterruptedException {
        answers.add(() -> lease);
        CountDownLatch closed = new CountDownLatch(1);
        CountDownLatch elected = new CountDownLatch(1);
        Election election = stand(
                leadership -> {
                    elected.countDown();
                    untilInterrupted();
                },
                leadership -> {
                    started.get().close();
                    closed.countDown();
                });
        elected.await();
        assertThat(election.yield(Duration.ZERO)).isTrue();

        assertThat(closed.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        await(() -> thread() == null);
        assertThat(lease.isClosed()).isTrue();
    }

    @Test
    void leader_isWhoHasTheLock() {
        Election election = stand(leadership -> {}, leadership -> {});
        assertThat(election.leader()).isEmpty();

        HolderInfo other = new HolderInfo("someone", "host", 7, Instant.EPOCH, 42);
        locks.holders.put("n", other);
        assertThat(election.leader()).contains(other);
    }
}
