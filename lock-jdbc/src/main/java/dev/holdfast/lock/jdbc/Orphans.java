package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.spi.AcquisitionId;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Removes again and again what an acquisition that has ended may still get: a statement that waits for a row goes on when its
 * client has cut off the connection, and is committed when the row is free. After a while it is left to its lease.
 * Thread-safe.
 */
final class Orphans {
    private static final int MOST = 1_000;
    private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(8);
    private static final long WHILE_NANOS = TimeUnit.MINUTES.toNanos(2);
    private static final long TIMEOUT_MILLIS = 3_000;

    private final Database database;
    private final ExpiryStatements statements;
    private final Semaphore places = new Semaphore(MOST);

    Orphans(Database database, ExpiryStatements statements) {
        this.database = database;
        this.statements = statements;
    }

    /** Begins at once, in the background. */
    void remove(AcquisitionId acquisition) {
        if (places.tryAcquire()) {
            later(acquisition, System.nanoTime() + WHILE_NANOS, 0);
        }
    }

    private void later(AcquisitionId acquisition, long untilNanos, long delayNanos) {
        CompletableFuture.delayedExecutor(delayNanos, TimeUnit.NANOSECONDS, database::inBackground)
                .execute(() -> {
                    abandon(acquisition);
                    long nextNanos = Math.max(FIRST_NANOS, Math.min(LONGEST_NANOS, 2 * delayNanos));
                    if (System.nanoTime() + nextNanos - untilNanos < 0) {
                        later(acquisition, untilNanos, nextNanos);
                    } else {
                        places.release();
                    }
                });
    }

    private void abandon(AcquisitionId acquisition) {
        try {
            database.run(TIMEOUT_MILLIS, connection -> {
                statements.abandon(connection, acquisition);
                return true;
            });
        } catch (SQLException | LockException e) {
            // The next round tries again.
        }
    }
}
