package dev.holdfast.lock.spi.support;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * A logger whose lines are written by a thread of their own, one for all clients. An appender may block, on a full disk for
 * example, and may throw; so may the {@code getMessage} of an exception. The threads that renew leases, decide waiters and lead
 * elections must neither wait for that nor end by it; nor must those of a backend's connections. A call therefore only queues the
 * line, and never throws. While more than {@value #MAX_WAITING} lines wait, further ones are dropped and counted. Formats and
 * arguments are those of SLF4J; an argument's text is made when the line is written. Thread-safe.
 */
public final class BackgroundLog {
    private static final int MAX_WAITING = 10_000;
    private static final long IDLE_MILLIS = 10;

    /** A client that is closed waits so long for the thread's end while other clients write lines. */
    private static final long MAX_END_MILLIS = 10 * IDLE_MILLIS;

    private static final ThreadPoolExecutor WRITER = writer();
    private static final AtomicLong DROPPED = new AtomicLong();

    private final Logger log;
    private final Executor writer;

    private BackgroundLog(Logger log, Executor writer) {
        this.log = log;
        this.writer = writer;
    }

    /**
     * Returns the logger of a class.
     *
     * @param type the class that logs
     * @return a logger with its name
     */
    public static BackgroundLog of(Class<?> type) {
        return new BackgroundLog(LoggerFactory.getLogger(type), WRITER);
    }

    /**
     * Returns a logger that writes on the calling thread; for tests.
     *
     * @param log what writes
     * @return a logger of the same name
     */
    public static BackgroundLog here(Logger log) {
        return new BackgroundLog(log, Runnable::run);
    }

    private static ThreadPoolExecutor writer() {
        ThreadPoolExecutor writer = new ThreadPoolExecutor(
                1,
                1,
                IDLE_MILLIS,
                TimeUnit.MILLISECONDS,
                new LinkedBlockingQueue<>(MAX_WAITING),
                task -> ClientThreads.daemon("holdfast-log", task));
        writer.allowCoreThreadTimeOut(true);
        return writer;
    }

    /**
     * Writes a line at level ERROR.
     *
     * @param format the text, with {@code {}} for each argument
     * @param arguments the arguments; the last one may be a failure, whose stack trace follows
     */
    public void error(String format, @Nullable Object... arguments) {
        submit(Level.ERROR, format, arguments);
    }

    /**
     * Writes a line at level ERROR, and does not throw even if there is no memory for its arguments.
     *
     * @param text the text
     * @param failure its stack trace follows
     */
    public void error(String text, Throwable failure) {
        try {
            submit(Level.ERROR, text, failure);
        } catch (OutOfMemoryError noMemory) {
            // The caller's work matters more than its line.
        }
    }

    /**
     * Writes a line at level WARN.
     *
     * @param format the text, with {@code {}} for each argument
     * @param arguments the arguments; the last one may be a failure, whose stack trace follows
     */
    public void warn(String format, @Nullable Object... arguments) {
        submit(Level.WARN, format, arguments);
    }

    /**
     * Writes a line at level INFO.
     *
     * @param format the text, with {@code {}} for each argument
     * @param arguments the arguments; the last one may be a failure, whose stack trace follows
     */
    public void info(String format, @Nullable Object... arguments) {
        submit(Level.INFO, format, arguments);
    }

    /**
     * Writes a line at level DEBUG.
     *
     * @param format the text, with {@code {}} for each argument
     * @param arguments the arguments; the last one may be a failure, whose stack trace follows
     */
    public void debug(String format, @Nullable Object... arguments) {
        submit(Level.DEBUG, format, arguments);
    }

    /**
     * Returns a failure as an argument of a line, without its stack trace.
     *
     * @param failure the failure
     * @return an argument
     */
    public static Object text(Throwable failure) {
        return new Object() {
            @Override
            public String toString() {
                return failure.toString();
            }
        };
    }

    private void submit(Level level, String format, @Nullable Object... arguments) {
        try {
            if (log.isEnabledForLevel(level)) {
                writer.execute(() -> write(level, format, arguments));
            }
        } catch (RejectedExecutionException full) {
            DROPPED.incrementAndGet();
        } catch (Throwable ignored) {
            // No memory, no thread, or a broken log: the caller's work matters more than its line.
        }
    }

    private void write(Level level, String format, @Nullable Object... arguments) {
        try {
            long dropped = DROPPED.getAndSet(0);
            if (dropped > 0) {
                log.warn("{} log lines of this library were dropped, as the log was too slow", dropped);
            }
            switch (level) {
                case ERROR -> log.error(format, arguments);
                case WARN -> log.warn(format, arguments);
                case INFO -> log.info(format, arguments);
                default -> log.debug(format, arguments);
            }
        } catch (Throwable ignored) {
            // The log fails; there is no other place to report it.
        }
    }

    /**
     * Waits until the lines so far have been written, and the thread that wrote them has ended unless other lines follow; for the
     * end of a client, and tests. An interrupt ends the wait and stays.
     *
     * @param timeoutMillis how long at most, in milliseconds
     */
    public static void flush(long timeoutMillis) {
        if (WRITER.getPoolSize() == 0) {
            return;
        }
        CompletableFuture<Thread> written = new CompletableFuture<>();
        try {
            WRITER.execute(() -> written.complete(Thread.currentThread()));
            Thread thread = Answers.get(written, timeoutMillis, TimeUnit.MILLISECONDS);
            if (thread != Thread.currentThread()) {
                thread.join(Math.min(timeoutMillis, MAX_END_MILLIS));
            }
        } catch (TimeoutException | ExecutionException slow) {
            return; // the log blocks
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RejectedExecutionException | OutOfMemoryError notNow) {
            return; // the lines are written later, or dropped
        }
    }
}
