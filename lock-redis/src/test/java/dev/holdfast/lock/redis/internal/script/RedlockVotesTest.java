package dev.holdfast.lock.redis.internal.script;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.TIMEOUT_MILLIS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What becomes of the answers of three masters to an attempt, and what is sent to each for it: without a server. */
final class RedlockVotesTest extends ThreeMasters {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // the masters' answers                     | result                | taken back at | place left at
                "1 70 0 0  | 1 72 0 0    | 1 71 0 0         | granted 72            | ''    | ''",
                "1 70 0 0  | 0 300 5 0   | 1 71 0 0         | granted 71            | ''    | '1'",
                "1 70 0 0  | failed      | 1 71 0 0         | granted 71            | ''    | '1'",
                "0 300 5 0 | 1 70 0 0    | 1 71 0 0         | granted 71            | ''    | '0'",
                "1 70 0 0  | 1 71 0 0    | 0 300 5 0        | granted 71            | ''    | '2'",
                "failed    | 0 -1 6 0    | 0 600 7 0        | busy -1 ticket        | '0'   | ''",
                "0 300 5 0 | 0 900 6 0   | 0 600 7 0        | busy 600+ ticket      | ''    | ''",
                "0 300 5 0 | 0 -1 6 0    | 0 600 7 0        | busy 600+ ticket      | ''    | ''",
                "0 300 5 0 | 0 -1 6 0    | 0 -1 7 0         | busy -1 ticket        | ''    | ''",
                "1 70 0 0  | 0 900 6 0   | 0 600 7 0        | busy 600 ticket       | '0'   | ''",
                "0 0 5 0   | 1 70 0 0    | 0 0 5 0          | busy 0+ ticket        | '1'   | ''",
                "failed    | 0 900 6 0   | 0 600 7 0        | busy 900+ ticket      | '0'   | ''",
                "failed    | 1 70 0 0    | 0 600 7 0        | busy 600 ticket       | '0 1' | ''",
                "failed    | 0 900 6 0   | failed           | failed attempt: 2 of 3 Redlock masters gave no answer, no majority is possible; the grants were taken back, try again | '0 2' | ''",
                "failed    | 1 70 0 0    | failed           | failed attempt: 2 of 3 Redlock masters gave no answer, no majority is possible; the grants were taken back, try again | '0 1 2' | ''",
                "failed    | failed      | failed           | failed attempt: 3 of 3 Redlock masters gave no answer, no majority is possible; the grants were taken back, try again | '0 1 2' | ''"
            })
    void attempt_ofAWaiter_isDecidedByTheMajority(
            String first, String second, String third, String result, String takenBack, String left) {
        answers(RedisScript.ATTEMPT, first, second, third);

        assertThat(outcome(attempt(60_000, null))).isEqualTo(result);

        assertThat(whoEnds("grant 1")).as("taken back").isEqualTo(takenBack);
        assertThat(whoEnds("place")).as("places left").isEqualTo(left);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1 70 0 0  | 1 72 0 0    | 0 300 0 0        | 1       | granted 72",
                "0 300 0 0 | 0 900 0 0   | 0 600 0 0        | 1       | busy 600+",
                "1 70 0 0  | 0 900 0 0   | 0 600 0 0        | 1       | busy 600",
                "1 70 0 0  | 0 900 0 0   | 0 600 0 0        | 0       | busy 600",
                "1 70 0 0  | 0 900 0 0   | 0 600 0 0        | failed  | busy 600 ticket",
                "failed    | 0 900 0 0   | 0 600 0 0        | 1       | busy 900+ ticket"
            })
    void attempt_withoutWaiting_hasATicketIfAGrantMayBeLeft(
            String first, String second, String third, String takenBack, String result) {
        answers(RedisScript.ATTEMPT, first, second, third);
        answers(RedisScript.RELEASE, takenBack, takenBack, takenBack);

        assertThat(outcome(attempt(0, null))).isEqualTo(result);

        assertThat(whoEnds("place")).isEmpty();
    }

    @Test
    void attempts_askAllMastersForTheWholeLease_inRisingGenerations_withTheirOwnTickets() {
        answers(RedisScript.ATTEMPT, "0 300 5 0", "0 300 0 0", "0 300 7 0");
        Ticket ticket = ticket();
        attempt(60_000, ticket);

        List<String> arrivals = List.of("5", "0", "7");
        for (int i = 0; i < masters.size(); i++) {
            List<ScriptedMaster.Asked> asked = masters.get(i).asked(RedisScript.ATTEMPT);
            assertThat(asked.get(0).args())
                    .containsExactly(owner, "310000", "300000", "1", "4711 host-1 driver", "1 any P a1 0");
            assertThat(asked.get(1).args().get(3)).isEqualTo("2");
            assertThat(asked.get(1).args().get(5)).isEqualTo("1 any P a1 " + arrivals.get(i));
        }
    }

    @Test
    void grant_isValidForTheLeaseLessTheDrift_andKnowsTheWholeOne() {
        answers(RedisScript.ATTEMPT, "1 70 0 0", "1 72 0 0", "1 71 0 0");
        assertThat(attempt(0, null))
                .isCompletedWithValue(
                        new AcquireResult.Granted(new Grant(mine, 72, LEASE_MILLIS - DRIFT_MILLIS, LEASE_MILLIS)));
    }

    /** Each that still answers soon is waited for, since its token may be the greatest. */
    @Test
    void majorityThatGrants_waitsForTheLastOne_forAMoment() {
        answers(RedisScript.ATTEMPT, "1 70 0 0", "later", "1 71 0 0");
        CompletableFuture<AcquireResult> late = attempt(0, null);
        assertThat(late).succeedsWithin(PATIENCE);
        assertThat(outcome(late)).isEqualTo("granted 71");

        boolean inTime = false; // a busy machine may take longer than that moment
        for (int i = 1; i < 100 && !inTime; i++) {
            CompletableFuture<AcquireResult> attempt = attempt(0, null);
            ScriptedMaster.give(masters.get(1).asked(RedisScript.ATTEMPT).get(i), "1 99 0 0");
            assertThat(attempt).succeedsWithin(PATIENCE);
            inTime = outcome(attempt).equals("granted 99");
        }
        assertThat(inTime).isTrue();
        assertThat(whoEnds("grant 2")).as("taken back").isEmpty();
    }

    @Test
    void minorityThatGrants_waitsForAllAnswers() {
        answers(RedisScript.ATTEMPT, "1 70 0 0", "0 300 5 0", "later");
        CompletableFuture<AcquireResult> attempt = attempt(0, null);
        assertThat(attempt).isNotDone();
        ScriptedMaster.give(masters.get(2).asked.get(0), "0 600 0 0");
        assertThat(outcome(attempt)).isEqualTo("busy 300");
    }

    @Test
    void grantAfterTheAbandonment_isTakenBackEverywhere_andSaysSo() {
        CompletableFuture<AcquireResult> attempt = attempt(0, null);
        backend.abandon(mine, TIMEOUT_MILLIS);
        masters.forEach(master -> ScriptedMaster.give(master.asked.get(0), "1 70 0 0"));
        assertThat(outcome(attempt)).isEqualTo("failed attempt: it was given up before it was granted");
        assertThat(whoEnds("both")).isEqualTo("0 1 2");
        assertThat(whoEnds("grant 1")).isEqualTo("0 1 2");
    }

    /** The later one decides: whether the lock is held by then is its concern. */
    @Test
    void grantAfterALaterAttemptHasBegun_fails_andTakesNothingBack() {
        CompletableFuture<AcquireResult> earlier = attempt(0, null);
        CompletableFuture<AcquireResult> later = attempt(0, null);
        masters.forEach(master -> ScriptedMaster.give(master.asked.get(0), "1 70 0 0"));
        assertThat(outcome(earlier)).isEqualTo("failed attempt: it was given up before it was granted");
        masters.forEach(master -> ScriptedMaster.give(master.asked.get(1), "1 70 0 0"));
        assertThat(outcome(later)).isEqualTo("granted 70");
        assertThat(masters).allMatch(master -> master.ended().isEmpty());
    }

    @Test
    void waiter_isCalledOnceByEachMajorityOfCalls_untilItStopsListening() {
        answers(RedisScript.ATTEMPT, "0 300 5 0", "0 300 6 0", "0 300 7 0");
        Ticket ticket = ticket();
        AtomicInteger calls = new AtomicInteger();
        List<Integer> after = new ArrayList<>();
        Subscription listening = backend.subscribe(ticket, calls::incrementAndGet);
        for (int master : new int[] {1, 1, 2, 0, 0, 1, 2}) {
            masters.get(master).waiters.call(owner);
            after.add(calls.get());
        }
        assertThat(after).containsExactly(0, 0, 1, 1, 1, 2, 2);

        listening.close();
        masters.forEach(master -> master.waiters.call(owner));
        assertThat(calls).hasValue(2);
        assertThat(backend.subscribe(new Ticket() {}, calls::incrementAndGet)).isSameAs(Subscription.NONE);
    }
}
