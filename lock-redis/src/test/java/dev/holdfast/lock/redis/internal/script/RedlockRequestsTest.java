package dev.holdfast.lock.redis.internal.script;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.IDENTITY;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.TIMEOUT_MILLIS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.redis.RedisInternals;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What becomes of the answers of three masters to other requests than attempts: without a server. */
final class RedlockRequestsTest extends ThreeMasters {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1      | 1      | later  | Renewed 9898",
                "1      | later  | 0      | open",
                "0      | 2      | later  | Lost 2 of 3 Redlock masters do not hold it any more",
                "0      | 1      | 0      | Lost 2 of 3 Redlock masters do not hold it any more",
                "1      | 0      | failed | Unknown no majority of the 3 Redlock masters has confirmed it",
                "failed | failed | failed | Unknown no majority of the 3 Redlock masters has confirmed it",
                "failed | failed | later  | open"
            })
    void renewal_isDecidedByTheMajority(String first, String second, String third, String result) {
        answers(RedisScript.RENEW, first, second, third);
        CompletableFuture<List<RenewResult>> renewed =
                backend.renew(List.of(grant()), TIMEOUT_MILLIS).toCompletableFuture();
        assertThat(renewed.isDone() ? told(renewed.join().get(0)) : "open").isEqualTo(result);
        assertThat(masters.get(0).asked.get(0).args())
                .containsExactly("300000", owner, Long.toString(LEASE_MILLIS), "77");
        // A minority may hold what is lost still.
        assertThat(whoEnds("both")).isEqualTo(result.startsWith("Lost") ? "0 1 2" : "");
    }

    /** The release may reach a master before the vote that a renewal asked for, on another connection. */
    @Test
    void voteOfARenewal_afterTheRelease_isTakenBack() {
        answers(RedisScript.ATTEMPT, "1 70 0 0", "1 71 0 0", "1 72 0 0");
        assertThat(outcome(attempt(0, null))).isEqualTo("granted 72");
        answers(RedisScript.RENEW, "1", "1", "later");
        answers(RedisScript.ATTEMPT, "later", "later", "later");
        assertThat(backend.renew(List.of(grant()), TIMEOUT_MILLIS).toCompletableFuture())
                .isCompleted();
        ScriptedMaster empty = masters.get(2);
        assertThat(empty.asked(RedisScript.ATTEMPT)).hasSize(1);
        ScriptedMaster.give(empty.asked(RedisScript.RENEW).get(0), "0");
        assertThat(empty.asked(RedisScript.ATTEMPT)).hasSize(2);

        backend.release(grant(), TIMEOUT_MILLIS);
        ScriptedMaster.give(empty.asked(RedisScript.ATTEMPT).get(1), "1 90 0 0");

        assertThat(whoEnds("grant 2")).isEqualTo("2");
        assertThat(masters.get(0).asked(RedisScript.ATTEMPT)).hasSize(1);
    }

    private static String told(RenewResult result) {
        if (result instanceof RenewResult.Renewed renewed) {
            return "Renewed " + renewed.leaseMillis();
        }
        if (result instanceof RenewResult.Unknown unknown) {
            return "Unknown " + unknown.detail();
        }
        return "Lost " + ((RenewResult.Lost) result).detail();
    }

    @Test
    void renewalOfTwo_waitsUntilBothAreDecided() {
        answers(RedisScript.RENEW, "1 0", "1 1", "later");
        Grant other = new Grant(BackendDriver.newAcquisition("m"), 78, LEASE_MILLIS - DRIFT_MILLIS, LEASE_MILLIS);
        CompletableFuture<List<RenewResult>> renewed =
                backend.renew(List.of(grant(), other), TIMEOUT_MILLIS).toCompletableFuture();
        assertThat(renewed).isNotDone();
        ScriptedMaster.give(masters.get(2).asked.get(0), "0 0");
        assertThat(renewed).isCompleted();
        assertThat(renewed.join()).hasSize(2);
        assertThat(told(renewed.join().get(0))).isEqualTo("Renewed 9898");
        assertThat(told(renewed.join().get(1))).startsWith("Lost");
        assertThat(masters.get(0).asked(RedisScript.RELEASE))
                .extracting(asked -> asked.keys().get(0))
                .containsExactly("holdfast:{m}");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1      | 1      | later  | RELEASED",
                "1      | 0      | later  | open",
                "0      | later  | 0      | NOT_HELD",
                "1      | 0      | failed | failed release: no majority of 2 of 3 Redlock masters answered alike; the outcome is unknown, try again",
                "failed | failed | later  | open"
            })
    void release_isDecidedByTheMajority(String first, String second, String third, String result) {
        answers(RedisScript.RELEASE, first, second, third);
        CompletableFuture<ReleaseResult> released =
                backend.release(grant(), TIMEOUT_MILLIS).toCompletableFuture();
        assertThat(outcome(released)).isEqualTo(result);
        assertThat(masters)
                .allSatisfy(master -> assertThat(master.asked.get(0).args().subList(0, 4))
                        .containsExactly("0 " + owner + " 300000 77 ", "77", "300000", "release"));
        if (released.isCompletedExceptionally()) {
            assertThat(released)
                    .failsWithin(PATIENCE)
                    .withThrowableThat()
                    .havingRootCause()
                    .withMessageContaining("made up");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1      | 0      | later  | null",
                "1      | later  | failed | open",
                "1      | failed | failed | failed abandon: no majority of 2 of 3 Redlock masters answered alike; the outcome is unknown, try again"
            })
    void abandonment_isConfirmedByAMajority(String first, String second, String third, String result) {
        answers(RedisScript.RELEASE, first, second, third);
        assertThat(outcome(backend.abandon(mine, TIMEOUT_MILLIS).toCompletableFuture()))
                .isEqualTo(result);
        assertThat(whoEnds("both")).isEqualTo("0 1 2");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "7 h me  70 | 7 h me  72 | 7 h me  71 | 72",
                "7 h me  70 | 8 h me  72 | 7 h me  71 | 71",
                "7 h me  70 | 8 h me  72 | 9 h me  71 | nobody",
                "7 h me  70 | 7 g me  72 | 7 f me  71 | nobody",
                "7 h me  70 | 7 h you 72 | 7 h she 71 | nobody",
                "7 h me  70 | nobody     | 7 h me  71 | 71",
                "7 h me  70 | nobody     | nobody     | nobody",
                "failed     | 7 h me  72 | 7 h me  71 | 72",
                "failed     | failed     | 7 h me  71 | failed holder: no majority of 2 of 3 Redlock masters answered alike; the outcome is unknown, try again",
                "7 h me  70 | 7 h me  72 | later      | open"
            })
    void holder_isWhomAMajorityNames(String first, String second, String third, String result) {
        CompletableFuture<Optional<HolderInfo>> holder =
                backend.holder("n", TIMEOUT_MILLIS).toCompletableFuture();
        List<String> named = List.of(first, second, third);
        for (int i = 0; i < masters.size(); i++) {
            ScriptedMaster.Asked open =
                    masters.get(i).asked(RedisDemandScripts.HOLDERS).get(0);
            String[] words = named.get(i).split(" +");
            if (words.length == 4) {
                open.answer()
                        .complete(List.of(
                                "x",
                                "0",
                                "0 aa 60000 " + words[3] + " - 1 1 " + words[0] + " " + words[1] + " " + words[2]));
            } else if (words[0].equals("nobody")) {
                open.answer().complete(List.of("-", "0", ""));
            } else {
                ScriptedMaster.give(open, words[0]);
            }
        }
        String told = holder.isDone() && !holder.isCompletedExceptionally()
                ? holder.join().map(each -> Long.toString(each.token())).orElse("nobody")
                : outcome(holder);
        assertThat(told).isEqualTo(result);
    }

    /** Attempts of what has ended have no grant behind them, so they take back what they are granted. */
    @Test
    void releaseAndAbandonment_endWhatIsKnownOfTheAttempts() {
        List<Runnable> ends =
                List.of(() -> backend.release(grant(), TIMEOUT_MILLIS), () -> backend.abandon(mine, TIMEOUT_MILLIS));
        for (int i = 0; i < ends.size(); i++) {
            answers(RedisScript.ATTEMPT, "1 70 0 0", "1 71 0 0", "1 72 0 0");
            assertThat(outcome(attempt(0, null))).isEqualTo("granted 72");
            ends.get(i).run();
            answers(RedisScript.ATTEMPT, "1 70 0 0", "0 300 0 0", "0 300 0 0");
            assertThat(outcome(attempt(0, null))).isEqualTo("busy 300");
            assertThat(whoEnds("grant " + 2 * (i + 1))).isEqualTo("0");
        }
    }

    /** No master answers, and no call waits for longer than was asked for. */
    @Test
    void requests_endByTheirTimeOut() {
        answers(RedisScript.RELEASE, "later", "later", "later");
        AcquireRequest attempt = new AcquireRequest(mine, LEASE_MILLIS, 0, false, null, 20, IDENTITY);
        for (CompletionStage<?> stage : List.<CompletionStage<?>>of(
                backend.tryAcquire(attempt),
                backend.renew(List.of(grant()), 20),
                backend.release(grant(), 20),
                backend.abandon(mine, 20),
                backend.holder("n", 20))) {
            assertThat(stage.handle((result, failure) -> true)).succeedsWithin(SHORT_PATIENCE);
        }

        answers(RedisScript.ATTEMPT, "1 70 0 0", "0 300 0 0", "0 300 0 0");
        CompletableFuture<AcquireResult> takesBack = backend.tryAcquire(attempt).toCompletableFuture();
        assertThat(takesBack).succeedsWithin(SHORT_PATIENCE);
        assertThat(outcome(takesBack)).isEqualTo("busy 300 ticket");
    }

    @Test
    void info_saysWhatRedlockCanDo() {
        BackendInfo info = backend.info();
        assertThat(List.<Object>of(info.name(), info.minLeaseMillis(), info.pollMinMillis(), info.pollMaxMillis()))
                .containsExactly("redlock", 100L, 200L, 400L);
        assertThat(List.<Object>of(info.expiring(), info.fifo(), info.ordered(), info.handsOver(), info.listing()))
                .containsExactly(true, false, false, false, false);
        BackendInfo polling = RedisInternals.backend(RedisInternals.redlockOf(List.copyOf(masters))
                        .polling(Duration.ofMillis(30), Duration.ofMillis(90)))
                .info();
        assertThat(List.of(polling.pollMinMillis(), polling.pollMaxMillis())).containsExactly(30L, 90L);
    }

    @Test
    void close_closesEachMaster() {
        backend.close();
        for (ScriptedMaster master : masters) {
            assertThat(List.of(master.closes.get(), master.connectionCloses.get(), master.channels.closes.get()))
                    .containsExactly(1, 1, 1);
        }
    }
}
