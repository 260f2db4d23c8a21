package dev.holdfast.lock.redis.internal.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.IDENTITY;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.TIMEOUT_MILLIS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.redis.internal.connection.RedisWaiters;
import dev.holdfast.lock.redis.internal.script.ScriptedMaster;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.lettuce.core.RedisException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** What attempts do and leave, in each order in which an answer, a message and an abandonment may come: without a server. */
final class RedisAttemptsTest {
    private static final long GENERATION = 1;
    private static final List<Object> BUSY = List.of(0L, 30_000L, 4_711L, 0L);
    private static final List<Object> MEETS_OTHER_DEMANDS = List.of(2L, 30_000L, 0L, 0L);

    private final RedisWaiters waiters = new RedisWaiters();
    private final ScriptedMaster.Channels signals = new ScriptedMaster.Channels();
    private final List<CompletableFuture<List<Object>>> sent = new ArrayList<>();
    private final List<Grant> handed = new ArrayList<>();
    private final AcquisitionId acquisition = BackendDriver.newAcquisition("n");
    private final String owner = acquisition.owner().toString();
    private final RedisAttempts attempts = new RedisAttempts(
            new RedisSettings("holdfast", 60_000, true, false, 50, 1_000, null),
            (attempt, timeoutMillis) -> {
                CompletableFuture<List<Object>> answer = new CompletableFuture<>();
                sent.add(answer);
                return answer;
            },
            waiters,
            signals);

    private CompletionStage<AcquireResult> attempt() {
        return attempts.tryAcquire(
                new AcquireRequest(acquisition, 30_000, 60_000, true, null, TIMEOUT_MILLIS, IDENTITY, handed::add),
                GENERATION);
    }

    @Test
    void busy_itsChannelIsWanted_untilItIsHandedTheLock() {
        attempt();
        sent.get(0).complete(BUSY);
        assertThat(signals.owners).containsExactly(owner);

        waiters.message(owner + " " + GENERATION + " 77 2000 p:{n}");

        assertThat(handed).extracting(Grant::token).containsExactly(77L);
        assertThat(signals.owners).isEmpty();
        assertThat(waiters.size()).isZero();
    }

    /** Its channel would never be ended. */
    @Test
    void handedTheLock_beforeTheAnswerThatItWaits_leavesNothing() {
        attempt();
        waiters.message(owner + " " + GENERATION + " 77 2000 p:{n}");
        assertThat(handed).extracting(Grant::token).containsExactly(77L);

        sent.get(0).complete(BUSY);

        assertThat(signals.owners).isEmpty();
        assertThat(waiters.size()).isZero();
    }

    /** The second command would come behind the abandonment, and leave a place or a grant. */
    @Test
    void abandoned_beforeItsFirstCommandIsAnswered_sendsNoSecondOne() {
        CompletableFuture<AcquireResult> result = attempt().toCompletableFuture();
        attempts.abandoned(owner);

        sent.get(0).complete(MEETS_OTHER_DEMANDS);

        assertThat(sent).hasSize(1);
        assertThat(result.join()).isInstanceOf(AcquireResult.Busy.class);
        assertThat(signals.owners).isEmpty();
    }

    @Test
    void released_isRememberedAsEnded_onlyIfItQueued() {
        attempts.released(owner);
        assertThat(attempts.hasEnded(owner)).isFalse();
        attempt();
        sent.get(0).complete(List.of(1L, 77L, 0L, 0L));
        attempts.released(owner);
        assertThat(attempts.hasEnded(owner)).isFalse();

        attempt();
        sent.get(1).complete(BUSY);
        assertThat(attempts.hasEnded(owner)).isFalse();
        attempts.released(owner);
        assertThat(attempts.hasEnded(owner)).isTrue();
    }

    /** The server may have put it into the queue. */
    @Test
    void released_afterAnAttemptWithoutAnAnswer_isRememberedAsEnded() {
        attempt();
        sent.get(0).completeExceptionally(new RedisException("made up by the test; expect it"));
        attempts.released(owner);
        assertThat(attempts.hasEnded(owner)).isTrue();
    }
}
