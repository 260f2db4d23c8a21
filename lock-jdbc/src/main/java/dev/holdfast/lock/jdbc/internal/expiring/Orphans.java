package dev.holdfast.lock.jdbc.internal.expiring;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Removes again and again what an acquisition that has ended may still get: a statement that waits for a row goes on when its
 * client has cut off the connection, and is committed when the row is free. After a while it is left to its lease.
 *
 * <p>One at a time, on a thread of its own, and without a wait for a row: an obstacle for one name is none for the others.
 * Thread-safe.
 */
final class Orphans {
    private static final BackgroundLog LOG = BackgroundLog.of(Orphans.class);
    private static final int MOST = 1_000;
    private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long MAX_DELAY_NANOS = TimeUnit.SECONDS.toNanos(8);
    private static final long WHILE_NANOS = TimeUnit.MINUTES.toNanos(2);
    private static final long TIMEOUT_MILLIS = 3_000;

    private final Database database;
    private final ExpiryStatements statements;
    private final ExecutorService executor;
    private final Semaphore places;
    private final long whileNanos;

    Orphans(Database database, ExpiryStatements statements) {
        this(database, statements, MOST, WHILE_NANOS);
    }

    /** With the given capacity and the given lifetime of an entry. */
    Orphans(Database database, ExpiryStatements statements, int most, long whileNanos) {
        this.database = database;
        this.statements = statements;
        this.executor = database.thread("holdfast-jdbc-orphans-");
        this.places = new Semaphore(most);
        this.whileNanos = whileNanos;
    }

    /** Begins at once, in the background. */
    void remove(AcquisitionId acquisition) {
        if (places.tryAcquire()) {
            later(acquisition, System.nanoTime() + whileNanos, 0);
        }
    }

    private void later(AcquisitionId acquisition, long untilNanos, long delayNanos) {
        CompletableFuture.delayedExecutor(delayNanos, TimeUnit.NANOSECONDS, this::onOurThread)
                .execute(() -> {
                    abandon(acquisition);
                    long nextNanos = Math.max(FIRST_NANOS, Math.min(MAX_DELAY_NANOS, 2 * delayNanos));
                    if (System.nanoTime() + nextNanos - untilNanos < 0) {
                        later(acquisition, untilNanos, nextNanos);
                    } else {
                        places.release();
                    }
                });
    }

    private void onOurThread(Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) {
            // Closed: what is left ends with its lease.
        }
    }

    private void abandon(AcquisitionId acquisition) {
        try {
            database.run(TIMEOUT_MILLIS, connection -> {
                statements.abandonUnlessLocked(connection, acquisition);
                return true;
            });
        } catch (SQLException | LockException e) {
            // The next round tries again.
        } catch (RuntimeException | Error e) {
            LOG.debug("lock table '{}': a driver or pool failed, the next round tries again", database.table(), e);
        }
    }
}
