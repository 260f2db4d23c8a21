package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.support.Answers;
import dev.holdfast.lock.spi.support.ClientThreads;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.spi.support.Greeting;
import dev.holdfast.lock.spi.support.LockUri;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisURI;
import io.netty.channel.ConnectTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The time for connecting, and why it failed. Lettuce's time-outs start again for each server and step. Thread-safe. */
final class InitialConnect implements AutoCloseable {
    private static final Greeting PING = new Greeting(
            "Redis", "PING\r\n".getBytes(StandardCharsets.US_ASCII), said -> said[0] == '+' || said[0] == '-');

    private static final int FIRST_REPEATS = 4;
    private static final int UNTOLD_REPEATS = 4;
    private static volatile boolean loaded;

    private final ConnectDiagnosis diagnosis;
    private final long timeoutNanos;
    private final long deadlineNanos;
    private final int repeats;
    private volatile boolean opened;
    /** The threads that open something now. Once the client's event loops have ended, nothing else would end them. */
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();

    private volatile boolean ended;

    InitialConnect(boolean cluster, List<RedisURI> uris, Duration timeout) {
        this(cluster, uris, timeout, loaded ? 0 : FIRST_REPEATS);
    }

    InitialConnect(boolean cluster, List<RedisURI> uris, Duration timeout, int repeats) {
        this.repeats = repeats;
        timeoutNanos = timeout.toNanos();
        deadlineNanos = System.nanoTime() + timeoutNanos;
        diagnosis = new ConnectDiagnosis(target(cluster, uris), PING, RedisFailures.TRANSLATOR, deadlineNanos);
    }

    private static ConnectDiagnosis.Target target(boolean cluster, List<RedisURI> uris) {
        RedisURI first = uris.get(0);
        if (first.getSocket() != null) {
            return new ConnectDiagnosis.Target("the socket " + first.getSocket(), List.of(), false, "");
        }
        boolean sentinel = !first.getSentinels().isEmpty();
        String kind = (cluster ? "-cluster" : sentinel ? "-sentinel" : "") + "://";
        List<LockUri.Host> servers = (sentinel ? first.getSentinels() : uris)
                .stream()
                        .map(each -> new LockUri.Host(each.getHost(), each.getPort()))
                        .toList();
        boolean tls = first.isSsl();
        return new ConnectDiagnosis.Target(
                (tls ? "rediss" : "redis")
                        + kind
                        + servers.stream().map(host -> host.withPort(0)).collect(Collectors.joining(",")),
                servers,
                tls,
                (tls ? "redis" : "rediss") + kind);
    }

    /**
     * What was opened within the time for connecting, or, afterwards, within the time of a request. If no server had answered
     * this process before, it is tried again if the server answers otherwise: loading Lettuce and Netty takes part of the time
     * of the first connections, on a busy machine more than all of it. What is opened again later is not. A connection that was
     * closed without a word is tried again within the time: the next one may report a refused login.
     *
     * @param tooLate gets what is opened later
     */
    <T> T inTime(Supplier<T> open, Consumer<T> tooLate) {
        return inTime(open, tooLate, opened ? 0 : repeats);
    }

    /** The same for what a new client opens behind its first connection: that may have left next to no time, or not loaded all. */
    <T> T nextInTime(Supplier<T> open, Consumer<T> tooLate) {
        return inTime(open, tooLate, repeats);
    }

    private <T> T inTime(Supplier<T> open, Consumer<T> tooLate, int mostRepeats) {
        int left = mostRepeats;
        int leftUntold = UNTOLD_REPEATS;
        while (true) {
            try {
                T result = once(open, tooLate);
                loaded = true;
                opened = true;
                return result;
            } catch (RuntimeException e) {
                if (RedisFailures.isUntold(e) && leftUntold > 0 && System.nanoTime() - deadlineNanos < 0) {
                    leftUntold--;
                } else if (left > 0 && isTimeout(e) && diagnosis.isAnswering()) {
                    left--;
                } else {
                    throw e;
                }
            }
        }
    }

    private static boolean isTimeout(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof TimeoutException
                    || cause instanceof RedisCommandTimeoutException
                    || cause instanceof ConnectTimeoutException) {
                return true;
            }
        }
        return false;
    }

    private <T> T once(Supplier<T> open, Consumer<T> tooLate) {
        CompletableFuture<T> opened = new CompletableFuture<>();
        Thread thread = ClientThreads.daemon("holdfast-redis-open", () -> {
            threads.add(Thread.currentThread());
            if (ended) {
                Thread.currentThread().interrupt();
            }
            try {
                T result = open.get();
                if (!opened.complete(result)) {
                    tooLate.accept(result);
                }
            } catch (Throwable e) {
                opened.completeExceptionally(e);
            } finally {
                threads.remove(Thread.currentThread());
            }
        });
        thread.start();
        long left = deadlineNanos - System.nanoTime();
        try {
            T result = Answers.get(opened, left > 0 ? left : timeoutNanos, TimeUnit.NANOSECONDS);
            diagnosis.close();
            return result;
        } catch (ExecutionException e) {
            Throwable cause = FailureTranslator.unwrap(e);
            if (cause instanceof Error error) {
                throw error;
            }
            throw cause instanceof RuntimeException known ? known : new IllegalStateException(cause);
        } catch (TimeoutException e) {
            if (!opened.completeExceptionally(e) && !opened.isCompletedExceptionally()) {
                return opened.join();
            }
            throw new LockUnavailableException("connecting to Redis: no answer in time; check the server", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            if (!opened.completeExceptionally(e) && !opened.isCompletedExceptionally()) {
                tooLate.accept(opened.join());
            }
            throw new LockUnavailableException("connecting to Redis was interrupted", e);
        }
    }

    RuntimeException explain(Throwable failure) {
        return diagnosis.explain(
                failure instanceof LockUnavailableException late && late.getCause() != null
                        ? late.getCause()
                        : failure);
    }

    @Override
    public void close() {
        diagnosis.close();
    }

    /** Ends the threads that still open something, after the end of the event loops that would have answered them. */
    void end() {
        ended = true;
        threads.forEach(Thread::interrupt);
    }
}
