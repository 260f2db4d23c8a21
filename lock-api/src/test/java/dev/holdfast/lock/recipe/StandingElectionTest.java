package dev.holdfast.lock.recipe;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What an election does with its lock, which is had when a test says so. Leases are of a minute: whatever happens within
 * some seconds has not been caused by their end.
 */
@Timeout(120)
class StandingElectionTest {
    private static final Duration STOP = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    /** What the lock answers, one after the other; without any it is waited for. */
    private final BlockingQueue<Callable<Lease>> answers = new LinkedBlockingQueue<>();

    private final List<Long> askedAt = new CopyOnWriteArrayList<>();
    private final List<String> told = new CopyOnWriteArrayList<>();
    private final PlannedLease lease = new PlannedLease("n");
    private final PlannedLocks locks = new PlannedLocks((name, timeout) -> {
        askedAt.add(System.nanoTime());
        return answer(answers.take());
    });
    private final AtomicReference<Election> started = new AtomicReference<>();

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
            election.close();
        }
        await(() -> thread() == null);
    }

    private Election stand(Election.Callback elected, Election.Callback revoked) {
        Election election = Recipes.election(locks.client(), "n")
                .options(LockOptions.builder().lease(Duration.ofMinutes(1)).build())
                .stopTime(STOP)
                .onElected(leadership -> {
                    told.add("elected");
                    elected.call(leadership);
                })
                .onRevoked(leadership -> {
                    told.add("revoked");
                    revoked.call(leadership);
                })
                .start();
        started.set(election);
        return election;
    }

    private static void untilInterrupted() throws InterruptedException {
        new CountDownLatch(1).await();
    }

    private static void await(Callable<Boolean> condition) {
        Awaitility.await().atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(condition);
    }

    private static boolean standsStill(@Nullable Thread thread) {
        return thread != null && thread.getState() == Thread.State.TIMED_WAITING;
    }

    /** The thread of the election; null when it has ended. */
    private static @Nullable Thread thread() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("holdfast-election-n"))
                .findFirst()
                .orElse(null);
    }

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
        await(() -> told.size() == 1 && standsStill(thread()));

        lease.end();
        lease.lost.complete(LossReason.REVOKED);

        assertThat(interrupted.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        await(() -> told.size() == 2 && lease.isClosed());
        assertThat(told).containsExactly("elected", "revoked");
        await(() -> askedAt.size() == 2); // it stands again
    }

    @Test
    void leader_thatYields_keepsASecond_andLeadsForAsLongAsBeforeAfterIt() {
        answers.add(() -> lease);
        CountDownLatch first = new CountDownLatch(1);
        Election election = stand(
                leadership -> {
                    if (told.size() == 1) {
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
        assertThat(((StandingElection) election).pauseNanos())
                .as("nanoseconds that are left for a later term")
                .isZero();
        answers.add(() -> new PlannedLease("n"));
        await(() -> told.size() == 3 && standsStill(thread()));

        assertThat(election.isLeader()).isTrue();
        assertThat(told).containsExactly("elected", "revoked", "elected");
    }

    @Test
    void candidate_thatFails_standsAgainAfterAPause_whichDoubles() {
        for (int i = 0; i < 2; i++) {
            answers.add(() -> {
                throw new LockUnavailableException("on purpose");
            });
        }
        stand(leadership -> {}, leadership -> {});
        await(() -> askedAt.size() == 3);

        assertThat(askedAt.get(1) - askedAt.get(0)).as("nanoseconds").isGreaterThanOrEqualTo(50_000_000);
        assertThat(askedAt.get(2) - askedAt.get(1)).as("nanoseconds").isGreaterThanOrEqualTo(100_000_000);
    }

    /** Doublings without a bound would be days after half an hour, and negative at last. */
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

    /** Nobody renews this lease: what is left of it stays as the test says, and it is valid to the end. */
    @Test
    void leader_whoseLeaseIsInDanger_isInterrupted_whileItIsValidYet() {
        lease.remaining = Duration.ofMillis(200); // the time to stop is half of it
        CountDownLatch began = new CountDownLatch(1);
        answers.add(() -> lease);
        stand(
                leadership -> {
                    began.countDown();
                    untilInterrupted();
                },
                leadership -> {});
        await(() -> began.getCount() == 0);
        assertThat(told).containsExactly("elected");

        lease.remaining = Duration.ofMillis(100);

        await(() -> told.size() == 2 && lease.isClosed());
        assertThat(lease.valid).isTrue();
    }

    /** The token is asked for by the line in the log, which says that the callback still runs. */
    @Test
    void callback_thatDoesNotEnd_keepsTheLock_andIsTheOnlyOne_evenWhenThatHasBeenLogged() {
        CountDownLatch interrupted = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        Election.Callback endless = leadership -> {
            told.add("elected");
            try {
                untilInterrupted();
            } catch (InterruptedException e) {
                interrupted.countDown();
                mayEnd.await();
            }
            told.add("returned");
        };
        answers.add(() -> lease);
        LockClient client = locks.client();
        Election election = new StandingElection(
                        client, client.lock("n"), endless, leadership -> told.add("revoked"), STOP, 1)
                .start();
        started.set(election);
        await(() -> told.size() == 1);

        assertThat(election.yield(Duration.ZERO)).isTrue();
        await(() -> interrupted.getCount() == 0 && lease.tokenAsked.get() > 0);
        await(() -> standsStill(thread()));
        assertThat(told).containsExactly("elected");
        assertThat(lease.isClosed()).isFalse();
        mayEnd.countDown();

        await(lease::isClosed);
        assertThat(told).containsExactly("elected", "returned", "revoked");
    }

    @Test
    void election_whoseClientIsClosed_ends() {
        answers.add(() -> {
            throw new LockClosedException("the client was closed");
        });
        stand(leadership -> {}, leadership -> {});

        await(() -> askedAt.size() == 1 && thread() == null);
        assertThat(told).isEmpty();
    }

    @Test
    void close_endsTheWaitForTheLock() {
        Election election = stand(leadership -> {}, leadership -> {});
        await(() -> askedAt.size() == 1);

        election.close();

        await(() -> thread() == null);
        assertThat(told).isEmpty();
    }

    @Test
    void close_whileTheLockComes_releasesIt_andNobodyLeads() throws InterruptedException {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch comes = new CountDownLatch(1);
        answers.add(() -> {
            asked.countDown();
            while (comes.getCount() > 0) {
                try {
                    comes.await();
                } catch (InterruptedException tooLate) {
                    // the answer is on its way
                }
            }
            return lease;
        });
        Election election = stand(leadership -> {}, leadership -> {});
        asked.await();
        Thread closing = new Thread(election::close);
        closing.start();
        await(() -> standsStill(closing));
        comes.countDown();
        closing.join();

        await(() -> thread() == null);
        assertThat(lease.closedAt).hasSize(1);
        assertThat(told).isEmpty();
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
        await(() -> told.size() == 2 && standsStill(closing));
        assertThat(lease.isClosed()).isFalse();
        mayEnd.countDown();
        closing.join();

        assertThat(lease.isClosed()).isTrue();
        assertThat(told).containsExactly("elected", "revoked");
    }

    /** It would wait for its own end. */
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
}
