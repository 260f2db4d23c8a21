package dev.holdfast.lock.jdbc.internal.notification;

import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.Notifications;
import dev.holdfast.lock.jdbc.internal.sql.Notifications.Receiver;
import dev.holdfast.lock.spi.support.Answers;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The connection on which a client receives notifications, and the thread that reads it. Opened when there is
 * a waiter, and closed ten seconds after the last one. Thread-safe.
 */
final class NotificationListener implements AutoCloseable {
    private static final BackgroundLog LOG = BackgroundLog.of(NotificationListener.class);
    private static final String HELLO = "hello ";
    private static final int READ_MILLIS = 250;
    private static final int ANSWER_MILLIS = 5_000;
    private static final long HELLO_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** A hello that could not be sent, for example because the pool had no connection, is sent again. */
    private static final long HELLO_AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final long CHECK_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final long KEEP_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long FIRST_RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long LAST_RETRY_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long DEAF_RETRY_NANOS = TimeUnit.MINUTES.toNanos(5);

    private final Wakeups wakeups;
    private final Notifications notifications;
    private final AtomicBoolean running = new AtomicBoolean();
    private volatile boolean closed;
    private volatile CompletableFuture<Void> ended = CompletableFuture.completedFuture(null);
    private volatile @Nullable Connection listening;
    /** In a read rather than a statement; a pool logs a warning if a statement is aborted. */
    private volatile boolean reading;

    private volatile @Nullable Thread pausing;
    private final LongSupplier nanoTime;
    private volatile long notBeforeNanos;

    NotificationListener(Wakeups wakeups, Notifications notifications, LongSupplier nanoTime) {
        this.wakeups = wakeups;
        this.notifications = notifications;
        this.nanoTime = nanoTime;
        this.notBeforeNanos = nanoTime.getAsLong();
    }

    /** Starts or keeps the listener, since there is a waiter. */
    void needed() {
        if (!closed && nanoTime.getAsLong() - notBeforeNanos >= 0 && running.compareAndSet(false, true)) {
            wakeups.inBackground(this::run);
        }
    }

    private void run() {
        int failures = 0;
        try {
            while (!closed && wakeups.isNeeded()) {
                try {
                    if (listen()) {
                        failures = 0;
                    } else {
                        LOG.info(
                                "channel '{}': notifications do not arrive, as behind a proxy that pools transactions;"
                                        + " waiters poll instead",
                                notifications.channel());
                        notBeforeNanos = nanoTime.getAsLong() + DEAF_RETRY_NANOS;
                        return;
                    }
                } catch (SQLException | LinkageError e) {
                    wakeups.live(false);
                    listening = null;
                    LOG.debug(
                            "channel '{}': listening failed, waiters poll until it works again",
                            notifications.channel(),
                            e);
                    if (e instanceof LinkageError || e instanceof SQLException sql && cannot(sql)) {
                        notBeforeNanos = nanoTime.getAsLong() + DEAF_RETRY_NANOS;
                        return;
                    }
                    pause(Math.min(LAST_RETRY_NANOS, FIRST_RETRY_NANOS << Math.min(failures++, 6)));
                }
            }
        } finally {
            wakeups.live(false);
            running.set(false);
            if (wakeups.isNeeded()) {
                needed(); // for a waiter that came at the last moment
            }
        }
    }

    /** Ends early on close(). */
    private void pause(long nanos) {
        pausing = Thread.currentThread();
        if (!closed) {
            LockSupport.parkNanos(nanos);
        }
        pausing = null;
    }

    /** Whether listening is impossible: the driver is not the database's own, or the pool hides it. */
    private static boolean cannot(SQLException e) {
        return e.getMessage() != null && e.getMessage().contains("unwrap")
                || DatabaseDialects.failure(e) == JdbcFailure.NO_ACCESS;
    }

    /**
     * Listens until no waiter needs it; false if no notifications arrive. Statements use the driver's own connection: a pool
     * logs a warning for each statement that breaks on its wrapper, as one aborted by {@link #close()} does.
     */
    private boolean listen() throws SQLException {
        CompletableFuture<Void> over = new CompletableFuture<>();
        ended = over;
        try {
            return closed || listen(wakeups.connections().take());
        } finally {
            over.complete(null);
        }
    }

    private boolean listen(Connection connection) throws SQLException {
        listening = connection;
        boolean clean = false;
        try {
            Receiver receiver = notifications.receiver(connection);
            Connection direct = receiver.connection();
            boolean autoCommit = direct.getAutoCommit();
            int timeoutMillis = direct.getNetworkTimeout();
            if (!autoCommit) {
                direct.setAutoCommit(true);
            }
            direct.setNetworkTimeout(Runnable::run, ANSWER_MILLIS);
            execute(direct, notifications.listen());
            boolean heard = hear(receiver);
            wakeups.live(false);
            if (closed && wakeups.connections().canEvict(connection)) {
                return heard; // the connection may have been aborted
            }
            execute(direct, notifications.unlisten());
            direct.setNetworkTimeout(Runnable::run, timeoutMillis);
            if (!autoCommit) {
                direct.setAutoCommit(false);
            }
            clean = true;
            return heard;
        } finally {
            listening = null;
            if (clean) {
                wakeups.connections().giveBack(connection);
            } else {
                wakeups.connections().end(connection);
            }
        }
    }

    private boolean hear(Receiver receiver) throws SQLException {
        String hello = HELLO + UUID.randomUUID();
        wakeups.sayHello(hello);
        long startNanos = nanoTime.getAsLong();
        long checkedNanos = startNanos;
        long neededNanos = startNanos;
        long helloNanos = startNanos;
        boolean heard = false;
        while (true) {
            List<String> payloads = read(receiver);
            if (closed) {
                return true;
            }
            long now = nanoTime.getAsLong();
            for (String payload : payloads) {
                checkedNanos = now;
                if (payload.equals(hello)) {
                    heard = true;
                    wakeups.live(true);
                } else {
                    wakeups.notified(payload);
                }
            }
            if (!heard && now - startNanos > HELLO_NANOS) {
                return false;
            }
            if (!heard && now - helloNanos > HELLO_AGAIN_NANOS) {
                wakeups.sayHello(hello);
                helloNanos = now;
            }
            if (wakeups.isNeeded()) {
                neededNanos = now;
            } else if (now - neededNanos > KEEP_NANOS) {
                return true;
            }
            if (now - checkedNanos > CHECK_NANOS) {
                execute(receiver.connection(), "SELECT 1");
                checkedNanos = now;
            }
        }
    }

    private List<String> read(Receiver receiver) throws SQLException {
        reading = true;
        try {
            return closed ? List.of() : receiver.read(READ_MILLIS);
        } finally {
            reading = false;
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /**
     * Returns when the connection is no longer used, so that its pool may be closed: a pool logs a warning for each connection
     * that breaks or is returned broken. A connection that can be evicted from its pool is aborted if it only listens.
     * Otherwise the listener gets the time of a read to finish it, and the same time again to stop listening, also on a busy
     * machine.
     */
    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(pausing);
        CompletableFuture<Void> end = ended;
        if (reading) {
            abortIf(wakeups.connections()::canEvict);
        }
        if (!endsSoon(end)) {
            abortIf(connection -> true);
        }
    }

    private void abortIf(Predicate<Connection> condition) {
        Connection connection = listening;
        if (connection != null && condition.test(connection)) {
            Connections.abort(connection);
        }
    }

    private static boolean endsSoon(CompletableFuture<Void> end) {
        try {
            Answers.get(end, 4L * READ_MILLIS, TimeUnit.MILLISECONDS);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } catch (ExecutionException | TimeoutException e) {
            return false;
        }
    }
}
