package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.spi.support.Timeouts;
import io.lettuce.core.RedisCommandExecutionException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The first script after a while on a connection. A router or firewall may have dropped the idle connection without notice to
 * either end, so without an answer in a third of its time, the script is sent on a new connection too, and the first answer
 * counts. Scripts may be repeated: they go by the owner id, or by the id of the release.
 */
final class IdleRetry {
    private static final long PARTS = 3;

    private final ConnectionSupervisor links;
    private final Timeouts timeouts;
    private final long timeoutMillis;
    private final long startNanos = System.nanoTime();
    private final CompletableFuture<List<Object>> answer = new CompletableFuture<>();
    private final AtomicInteger underWay = new AtomicInteger(1);
    private final AtomicBoolean repeated = new AtomicBoolean();

    IdleRetry(ConnectionSupervisor links, Timeouts timeouts, long timeoutMillis) {
        this.links = links;
        this.timeouts = timeouts;
        this.timeoutMillis = timeoutMillis;
    }

    /**
     * Returns the first answer.
     *
     * @param link where the script was sent
     * @param sent its answer there
     * @param again sends it on another link, with the time that is left in ms
     */
    CompletableFuture<List<Object>> answer(
            ConnectionFactory.Link link,
            CompletableFuture<List<Object>> sent,
            BiFunction<ConnectionFactory.Link, Long, CompletableFuture<List<Object>>> again) {
        CompletableFuture<Void> patience = new CompletableFuture<>();
        patience.whenComplete((nothing, over) -> links.replaceThen(link, next -> repeat(next, again)));
        timeouts.start(patience, timeoutMillis / PARTS);
        sent.whenComplete((value, failure) -> {
            timeouts.cancel(patience);
            ConnectionFactory.Link now = links.link();
            if (now != link && mayRepeat(failure)) {
                repeat(now, again); // the silent connection was closed because of another script
            }
            end(value, failure);
        });
        return answer;
    }

    private static boolean mayRepeat(@Nullable Throwable failure) {
        Throwable cause = failure == null ? null : FailureTranslator.unwrap(failure);
        return cause != null
                && !(cause instanceof RedisCommandExecutionException)
                && !(cause instanceof TimeoutException);
    }

    private void repeat(
            ConnectionFactory.Link next,
            BiFunction<ConnectionFactory.Link, Long, CompletableFuture<List<Object>>> again) {
        long leftMillis = timeoutMillis - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
        if (answer.isDone() || leftMillis <= 0 || !repeated.compareAndSet(false, true)) {
            return;
        }
        underWay.incrementAndGet();
        again.apply(next, leftMillis).whenComplete(this::end);
    }

    private void end(@Nullable List<Object> value, @Nullable Throwable failure) {
        int left = underWay.decrementAndGet();
        if (failure == null) {
            answer.complete(value);
        } else if (left == 0) {
            answer.completeExceptionally(FailureTranslator.unwrap(failure));
        }
    }
}
