package dev.holdfast.lock.redis.internal.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.IDENTITY;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.ReplicaPolicy;
import dev.holdfast.lock.redis.internal.connection.RedisWaiters;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.redis.internal.script.ScriptedMaster;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.lettuce.core.RedisException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an attempt says to the script, and what is made of its answer: without a server. */
final class RedisAttemptArgumentsTest {
    private static final long LEASE_MILLIS = 30_000;
    private static final long TIMEOUT_MILLIS = 600_000;
    private static final Demand PERMITS = new Demand.Permits(2, 3);

    private final RedisWaiters waiters = new RedisWaiters();
    private final ScriptedMaster.Channels signals = new ScriptedMaster.Channels();
    private final List<RedisAttempt> sent = new ArrayList<>();
    private final List<CompletableFuture<List<Object>>> answers = new ArrayList<>();
    private final List<Grant> handed = new ArrayList<>();

    private RedisAttempts attempts(boolean barging, @Nullable ReplicaAcknowledgement replicas, long pollMaxMillis) {
        return new RedisAttempts(
                new RedisSettings("p", 60_000, true, barging, 50, pollMaxMillis, replicas),
                (attempt, timeoutMillis) -> {
                    assertThat(timeoutMillis).isEqualTo(TIMEOUT_MILLIS);
                    sent.add(attempt);
                    CompletableFuture<List<Object>> answer = new CompletableFuture<>();
                    answers.add(answer);
                    return answer;
                },
                waiters,
                signals);
    }

    private static AcquisitionId acquisition(Demand demand) {
        return new AcquisitionId("n", OwnerId.random(), demand);
    }

    private AcquireRequest request(AcquisitionId acquisition, long waitMillis, @Nullable Ticket ticket) {
        return new AcquireRequest(
                acquisition, LEASE_MILLIS, waitMillis, false, ticket, TIMEOUT_MILLIS, IDENTITY, handed::add);
    }

    @ParameterizedTest
    @CsvSource({
        // mode, wait, fair, takes a hand-over, how | how to wait
        "P, 0,  false, true,  plain,    0 young - a1 0",
        "P, 60, false, false, plain,    1 young P a1 0",
        "P, 60, false, true,  plain,    2 young P a1 0",
        "s, 60, true,  true,  plain,    2 fair s a1 0",
        "P, 0,  true,  true,  plain,    0 fair - a1 0",
        "P, 60, true,  true,  polling,  2 young P a1 0",
        "-, 60, false, true,  plain,    0 young - a1 0",
        "P, 60, false, true,  replicas, 1 young P a1 0",
        "P, 60, true,  false, votes,    1 any P a1 0",
        "P, 60, false, false, ticket,   1 young P a1 4711",
        "P, 60, false, false, foreign,  1 young P a1 0",
    })
    void attemptForTheLock_saysHowToWait(
            String mode, long waitMillis, boolean fair, boolean takesOver, String how, String wait) {
        AcquisitionId mine = acquisition(Demand.EXCLUSIVE);
        signals.mode = mode;
        signals.queues = !how.equals("polling");
        Ticket ticket = switch (how) {
            case "ticket" -> new RedisTicket(mine, false, 4711);
            case "foreign" -> new Ticket() {};
            default -> null;
        };
        ReplicaAcknowledgement replicas =
                how.equals("replicas") ? new ReplicaAcknowledgement(1, 100, ReplicaPolicy.REFUSE) : null;

        attempts(how.equals("votes"), replicas, 1_000)
                .tryAcquire(
                        new AcquireRequest(
                                mine,
                                LEASE_MILLIS,
                                waitMillis,
                                fair,
                                ticket,
                                TIMEOUT_MILLIS,
                                IDENTITY,
                                takesOver ? handed::add : null),
                        8);

        RedisAttempt attempt = sent.get(0);
        assertThat(attempt.args())
                .containsExactly(mine.owner().toString(), "90000", "60000", "8", "4711 host-1 driver", wait);
        assertThat(attempt.generation()).isEqualTo(8);
        assertThat(attempt.script()).isSameAs(RedisScript.ATTEMPT);
        assertThat(attempt.scriptKeys()).containsExactly("p:{n}", "p:{n}:q", "p:{n}:w");
        assertThat(attempt.releaseScript()).isSameAs(RedisScript.RELEASE);
        // Whoever may be called, is known from now on.
        assertThat(waiters.knows(attempt.owner())).isEqualTo(waitMillis > 0 && !mode.equals("-"));
    }

    @ParameterizedTest
    @CsvSource({
        // mode, wait, longest poll | how to wait
        "P, 60, 1000,  1 young P a1 0",
        "-, 60, 1000,  1 young - 2500 0",
        "-, 60, 2249,  1 young - 4998 0",
        "-, 60, 2251,  1 young - 5000 0",
        "-, 0,  1000,  0 young - a1 0",
    })
    void attemptInLine_saysWhatItAsksFor_andForHowLongWhoPollsIsAwaited(
            String mode, long waitMillis, long pollMaxMillis, String wait) {
        signals.mode = mode;
        RedisAttempts attempts = attempts(false, null, pollMaxMillis);
        AcquisitionId alone = acquisition(Demand.EXCLUSIVE);
        attempts.tryAcquire(request(acquisition(PERMITS), waitMillis, null), 1);
        attempts.tryAcquire(request(acquisition(Demand.SHARED), waitMillis, null), 2);
        attempts.tryAcquire(request(alone, waitMillis, new RedisTicket(alone, true, 9)), 3);

        List<List<String>> asks = List.of(List.of("p", "2", "3"), List.of("s", "0", "0"), List.of("x", "0", "0"));
        for (int i = 0; i < 3; i++) {
            RedisAttempt attempt = sent.get(i);
            String place = i == 2 ? wait.replaceAll("0$", "9").replaceAll("^1 young P", "2 young P") : wait;
            assertThat(Arrays.asList(attempt.args()))
                    .isEqualTo(Stream.concat(
                                    Stream.of(
                                            attempt.owner(), "90000", "60000", i + 1 + "", "4711 host-1 driver", place),
                                    asks.get(i).stream())
                            .toList());
            assertThat(attempt.script()).isSameAs(RedisDemandScripts.ATTEMPT);
            assertThat(attempt.scriptKeys()).containsExactly("p:{n}", "p:{n}:q", "p:{n}:w", "p:{n}:n");
            assertThat(attempt.releaseScript()).isSameAs(i == 2 ? RedisScript.RELEASE : RedisDemandScripts.RELEASE);
        }
    }

    /** A lock's entry is one text; one line of many is a holder's, whose parts tabs separate. */
    @Test
    void identity_isWellFormed_andOneLineAmongHolders() {
        RedisAttempts attempts = attempts(false, null, 1_000);
        Identity odd = new Identity("a" + (char) 0xd800 + "b\n\tc", "h", 7);
        attempts.tryAcquire(
                new AcquireRequest(acquisition(Demand.EXCLUSIVE), LEASE_MILLIS, 0, false, null, TIMEOUT_MILLIS, odd),
                1);
        attempts.tryAcquire(
                new AcquireRequest(acquisition(PERMITS), LEASE_MILLIS, 0, false, null, TIMEOUT_MILLIS, odd), 2);
        attempts.tryAcquire(request(acquisition(PERMITS), 0, null), 3);
        assertThat(sent)
                .extracting(attempt -> attempt.args()[4])
                .containsExactly("7 h a?b\n\tc", "7 h a?b  c", "4711 host-1 driver");
    }

    private AcquireResult answered(RedisAttempts attempts, AcquireRequest request, Object... reply) {
        CompletableFuture<AcquireResult> result =
                attempts.tryAcquire(request, 1).toCompletableFuture();
        answers.get(answers.size() - 1).complete(List.of(reply));
        assertThat(result).isCompleted();
        return result.join();
    }

    @Test
    void answers_areReadAsTheyAre() {
        RedisAttempts attempts = attempts(false, null, 1_000);
        AcquisitionId alone = acquisition(Demand.EXCLUSIVE);
        AcquisitionId many = acquisition(PERMITS);
        AcquireRequest lock = request(alone, 60_000, null);
        AcquireRequest permits = request(many, 60_000, null);
        assertThat(answered(attempts, lock, 1L, "1700000000000005", 0L, 0L))
                .isEqualTo(new AcquireResult.Granted(new Grant(alone, 1_700_000_000_000_005L, LEASE_MILLIS, null)));
        assertThat(signals.owners).isEmpty();
        assertThat(waiters.size()).isZero();
        assertThat(answered(attempts, permits, 1L, 77L, 0L, 0L, 2L))
                .isEqualTo(new AcquireResult.Granted(new Grant(many, 77, LEASE_MILLIS, 2, null)));
        assertThat(answered(attempts, lock, 0L, 300L, 4711L, 0L))
                .isEqualTo(new AcquireResult.Busy(300, new RedisTicket(alone, false, 4711)));
        assertThat(signals.owners).containsExactly(alone.owner().toString());
        assertThat(answered(attempts, permits, 0L, -1L, 4712L, 0L, 0L))
                .isEqualTo(new AcquireResult.Busy(-1, new RedisTicket(many, true, 4712)));
        assertThat(waiters.size()).isEqualTo(2);
        // A key without an end, or an end that came in between.
        assertThat(answered(attempts, lock, 0L, -2L, 0L, 0L)).isEqualTo(new AcquireResult.Busy(-1, null));
        assertThat(signals.owners).containsExactly(many.owner().toString());
        assertThat(answered(attempts, permits, 3L, 5L, 0L, 0L, 0L)).isEqualTo(new AcquireResult.OtherLimit(5));
        assertThat(signals.owners).isEmpty();
        assertThat(waiters.size()).isZero();
    }

    /** The answer says that there has been a call; a waiter without one gets none. */
    @Test
    void callThatWasNotHeard_isMissed() {
        RedisAttempts attempts = attempts(false, null, 1_000);
        AcquireRequest request = request(acquisition(Demand.EXCLUSIVE), 60_000, null);
        String owner = request.acquisition().owner().toString();
        answered(attempts, request, 0L, 300L, 4711L, 0L);
        waiters.message(owner);
        answered(attempts, request, 0L, 300L, 4711L, 1L);
        assertThat(signals.missed).hasValue(0);
        answered(attempts, request, 0L, 300L, 4711L, 0L);
        assertThat(signals.missed).hasValue(0);
        answered(attempts, request, 0L, 300L, 4711L, 1L);
        assertThat(signals.missed).hasValue(1);
    }

    @Test
    void otherDemands_areMetInLine_byTheSameAttempt() {
        AcquisitionId mine = acquisition(Demand.EXCLUSIVE);
        CompletableFuture<AcquireResult> result = attempts(false, null, 1_000)
                .tryAcquire(request(mine, 60_000, null), 6)
                .toCompletableFuture();
        answers.get(0).complete(List.of(2L, 300L, 0L, 0L));
        assertThat(result).isNotDone();
        assertThat(sent.get(1).generation()).isEqualTo(6);
        assertThat(sent.get(1).owner()).isEqualTo(mine.owner().toString());
        answers.get(1).complete(List.of(0L, 300L, 9L, 0L, 0L));
        assertThat(result).isCompletedWithValue(new AcquireResult.Busy(300, new RedisTicket(mine, true, 9)));
    }

    @Test
    void otherDemands_atAVote_areBusy() {
        AcquisitionId mine = acquisition(Demand.EXCLUSIVE);
        assertThat(answered(attempts(true, null, 1_000), request(mine, 60_000, null), 2L, 300L, 0L, 0L))
                .isEqualTo(new AcquireResult.Busy(300, null));
        assertThat(sent).hasSize(1);
    }

    /** Only waiters in the queue are called, and listeners. */
    @Test
    void failedAttempt_isForgotten_unlessSomebodyListens() {
        RedisAttempts attempts = attempts(false, null, 1_000);
        AcquisitionId mine = acquisition(Demand.EXCLUSIVE);
        AcquisitionId shared = acquisition(Demand.SHARED);
        for (AcquisitionId each : List.of(mine, shared)) {
            CompletableFuture<AcquireResult> failed =
                    attempts.tryAcquire(request(each, 60_000, null), 1).toCompletableFuture();
            signals.owners.add(each.owner().toString());
            answers.get(answers.size() - 1).completeExceptionally(new RedisException("made up by the test"));
            assertThat(failed)
                    .failsWithin(Duration.ZERO)
                    .withThrowableOfType(ExecutionException.class)
                    .havingCause()
                    .isInstanceOf(LockUnavailableException.class)
                    .withMessageStartingWith("attempt: ")
                    .withMessageContaining("made up by the test");
        }
        assertThat(waiters.size()).isZero();
        assertThat(signals.owners).isEmpty();

        attempts.listen(mine.owner().toString(), () -> {});
        attempts.tryAcquire(request(mine, 60_000, null), 2);
        answers.get(answers.size() - 1).completeExceptionally(new RedisException("made up by the test"));
        assertThat(waiters.knows(mine.owner().toString())).isTrue();
    }

    @Test
    void listening_callsBack_untilItIsClosed_andEndsTheChannelThen() {
        RedisAttempts attempts = attempts(false, null, 1_000);
        AcquireRequest request = request(acquisition(Demand.EXCLUSIVE), 60_000, null);
        String owner = request.acquisition().owner().toString();
        answered(attempts, request, 0L, 300L, 4711L, 0L);
        AtomicInteger calls = new AtomicInteger();
        Subscription listening = attempts.listen(owner, calls::incrementAndGet);
        waiters.message(owner);
        assertThat(calls).hasValue(1);
        assertThat(signals.owners).containsExactly(owner);

        Subscription again = attempts.listen(owner, calls::incrementAndGet);
        listening.close();
        assertThat(signals.owners).as("somebody listens still").containsExactly(owner);
        again.close();
        assertThat(signals.owners).isEmpty();
        waiters.message(owner);
        assertThat(calls).hasValue(1);
    }

    @Test
    void abandoned_isNotCalledAnyMore() {
        RedisAttempts attempts = attempts(false, null, 1_000);
        AcquireRequest request = request(acquisition(Demand.EXCLUSIVE), 60_000, null);
        String owner = request.acquisition().owner().toString();
        answered(attempts, request, 0L, 300L, 4711L, 0L);
        attempts.listen(owner, () -> {});
        attempts.abandoned(owner);
        assertThat(signals.owners).isEmpty();
        assertThat(waiters.size()).isZero();
    }

    /** Of the lease in the message and that of the request, the shorter one counts. */
    @ParameterizedTest
    @CsvSource({"30000, 30000, 30000", "30000, 1500, 1500", "1200, 1500, 1200"})
    void handedOver_isAGrantForTheLease(long leaseMillis, long saidMillis, long grantedMillis) {
        RedisAttempts attempts = attempts(false, null, 1_000);
        AcquisitionId mine = BackendDriver.newAcquisition("n");
        attempts.tryAcquire(
                new AcquireRequest(mine, leaseMillis, 60_000, false, null, TIMEOUT_MILLIS, IDENTITY, handed::add), 5);
        answers.get(0).complete(List.of(0L, 300L, 4711L, 0L));
        waiters.message(mine.owner() + " 5 77 " + saidMillis + " p:{n}");
        assertThat(handed).containsExactly(new Grant(mine, 77, grantedMillis, null));
        assertThat(signals.owners).isEmpty();
        assertThat(waiters.size()).isZero();
    }
}
