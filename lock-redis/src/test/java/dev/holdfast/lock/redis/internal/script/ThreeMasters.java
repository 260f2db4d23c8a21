package dev.holdfast.lock.redis.internal.script;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.IDENTITY;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.TIMEOUT_MILLIS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.redis.RedisInternals;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Redlock over three masters whose answers the test makes up, and what it has come to. */
abstract class ThreeMasters {
    static final Duration PATIENCE = Duration.ofSeconds(60);
    static final Duration SHORT_PATIENCE = Duration.ofSeconds(15);
    static final long LEASE_MILLIS = 10_000;
    static final long DRIFT_MILLIS = 102;

    final List<ScriptedMaster> masters = List.of(new ScriptedMaster(), new ScriptedMaster(), new ScriptedMaster());
    final LockBackend backend = RedisInternals.backend(RedisInternals.redlockOf(List.copyOf(masters)));
    final AcquisitionId mine = BackendDriver.newAcquisition("n");
    final String owner = mine.owner().toString();

    final void answers(RedisScript script, String... replies) {
        for (int i = 0; i < masters.size(); i++) {
            masters.get(i).answers(script, replies[i]);
        }
    }

    final CompletableFuture<AcquireResult> attempt(long waitMillis, @Nullable Ticket ticket) {
        return backend.tryAcquire(
                        new AcquireRequest(mine, LEASE_MILLIS, waitMillis, true, ticket, TIMEOUT_MILLIS, IDENTITY))
                .toCompletableFuture();
    }

    /** The ticket of a waiter's attempt, which the test lets end at once. */
    final @Nullable Ticket ticket() {
        CompletableFuture<AcquireResult> busy = attempt(60_000, null);
        assertThat(busy).isCompleted();
        return ((AcquireResult.Busy) busy.join()).ticket();
    }

    final Grant grant() {
        return new Grant(mine, 77, LEASE_MILLIS - DRIFT_MILLIS, LEASE_MILLIS);
    }

    /** What a stage has come to, without waiting: of a busy answer, how long in steps of 100 ms. */
    static String outcome(CompletableFuture<?> stage) {
        if (!stage.isDone()) {
            return "open";
        }
        return stage.<String>handle((result, failure) -> {
                    if (failure != null) {
                        return "failed "
                                + (failure instanceof CompletionException ? failure.getCause() : failure).getMessage();
                    }
                    if (result instanceof AcquireResult.Busy busy) {
                        String ticket = busy.ticket() == null ? "" : " ticket";
                        long millis = busy.remainingMillis();
                        return (millis < 0 || millis % 100 == 0 ? "busy " + millis : later(millis)) + ticket;
                    }
                    return result instanceof AcquireResult.Granted granted
                            ? "granted " + granted.grant().token()
                            : String.valueOf(result);
                })
                .join();
    }

    /** With from 5 to 49 ms more, so that not all who lost a vote try again at once. */
    static String later(long millis) {
        assertThat(millis % 100).isBetween(5L, 49L);
        return "busy " + millis / 100 * 100 + "+";
    }

    final String whoEnds(String what) {
        return IntStream.range(0, masters.size())
                .filter(i -> masters.get(i).ended().contains(what))
                .mapToObj(Integer::toString)
                .collect(Collectors.joining(" "));
    }
}
