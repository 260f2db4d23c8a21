package dev.holdfast.lock.jdbc.internal.rowlock;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.connection.Lookout;
import dev.holdfast.lock.jdbc.internal.connection.Threads;
import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.RowStatements;
import dev.holdfast.lock.jdbc.internal.sql.StatementBinder;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.OwnerId;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What the holds of one client have in common: who there is, their connections, and the statements on other ones. Thread-safe. */
final class RowLocks implements AutoCloseable {
    private static final long WATCH_MILLIS = 250;

    private final Database database;
    private final RowStatements sql;
    private final ExecutorService executor;
    private final RowSessionPool sessions;
    private final long timeoutMillis;
    private final ConcurrentHashMap<OwnerId, RowAcquisition> holds = new ConcurrentHashMap<>();
    private final Lookout lookout;
    private volatile @Nullable GrantListener listener;
    private volatile boolean readOnlyDefault;
    private volatile boolean closed;

    RowLocks(
            Database database,
            RowStatements sql,
            RowSessionPool sessions,
            ExecutorService executor,
            long timeoutMillis) {
        this.database = database;
        this.sql = sql;
        this.sessions = sessions;
        this.executor = executor;
        this.timeoutMillis = timeoutMillis;
        this.lookout = new Lookout(TimeUnit.MILLISECONDS.toNanos(WATCH_MILLIS), executor, this::look);
    }

    RowSessionPool sessions() {
        return sessions;
    }

    ExecutorService executor() {
        return executor;
    }

    /** From then on no hold that is not there yet may stay. */
    boolean isClosed() {
        return closed;
    }

    int timeoutMillis() {
        return (int) Math.min(timeoutMillis, Integer.MAX_VALUE);
    }

    /** Sets the listener that is notified of locks that ended between two renewals. */
    void listener(GrantListener listener) {
        this.listener = listener;
    }

    /**
     * While there are holds, looks whether their connections were closed: without a request, more often than renewals come. Another
     * thread reports it, since a pool may log the end of a connection, and the log may block.
     */
    private boolean look() {
        holds.values().stream()
                .filter(RowAcquisition::hasClosedConnection)
                .forEach(hold -> onOurThread(() -> reportIfClosed(hold)));
        return !holds.isEmpty();
    }

    private void reportIfClosed(RowAcquisition hold) {
        hold.endIfClosed(ended -> {
            GrantListener notified = listener;
            if (notified != null) {
                notified.lost(ended, LossReason.SESSION_LOST, whyClosed());
            }
        });
    }

    /** Why a connection that is in use was closed. */
    String whyClosed() {
        return database.connections().isClosed()
                ? "the pool was closed before the lock client; close the lock client first"
                : "the connection that held its row was closed; keep the pool from taking back connections in use";
    }

    private void onOurThread(Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) {
            // Closed: nothing is held any more.
        }
    }

    RowAcquisition holdFor(AcquisitionId acquisition) {
        lookout.begin();
        return holds.computeIfAbsent(acquisition.owner(), owner -> new RowAcquisition(this, acquisition));
    }

    @Nullable RowAcquisition hold(OwnerId owner) {
        return holds.get(owner);
    }

    void forget(OwnerId owner, RowAcquisition hold) {
        holds.remove(owner, hold);
    }

    /** As {@link RowSession#tryLock}, where transactions may be read-only by default. */
    RowSession.Outcome tryLock(RowSession session, byte[] name, long leaseMillis, long deadlineNanos)
            throws SQLException {
        if (!readOnlyDefault) {
            try {
                return session.tryLock(name, leaseMillis, TransactionRunner.millisLeft(deadlineNanos));
            } catch (SQLException e) {
                if (DatabaseDialects.failure(e) != JdbcFailure.READ_ONLY) {
                    throw e;
                }
            }
        }
        session.liftReadOnly(TransactionRunner.millisLeft(deadlineNanos));
        RowSession.Outcome outcome = session.tryLock(name, leaseMillis, TransactionRunner.millisLeft(deadlineNanos));
        readOnlyDefault = true; // a standby refuses this as well, and may be a primary soon
        return outcome;
    }

    /** Makes a name's rows. */
    void insert(byte[] name, long deadlineNanos) throws SQLException {
        database.run(TransactionRunner.millisLeft(deadlineNanos), connection -> {
            try (PreparedStatement statement = connection.prepareStatement(sql.insert())) {
                statement.setBytes(1, name);
                statement.setBytes(2, name);
                return statement.executeUpdate();
            }
        });
    }

    /** Counts a token, durably, whatever becomes of the transaction that has the row locked. */
    long mint(byte[] name, long session, Identity identity, long deadlineNanos) throws SQLException {
        return database.run(
                TransactionRunner.millisLeft(deadlineNanos), connection -> count(connection, name, session, identity));
    }

    /** Counts a token if none was counted since the row was locked; false if one was. */
    boolean mintNext(byte[] name, long session, Identity identity, long seen, long deadlineNanos) throws SQLException {
        return database.run(TransactionRunner.millisLeft(deadlineNanos), connection -> {
            try (PreparedStatement statement = connection.prepareStatement(sql.mintNext())) {
                new StatementBinder(statement)
                        .number(session)
                        .identity(identity)
                        .bytes(name)
                        .number(seen);
                if (database.dialect().returnsTokenAsKey()) {
                    return statement.executeUpdate() == 1;
                }
                try (ResultSet rows = statement.executeQuery()) {
                    return rows.next();
                }
            }
        });
    }

    private long count(Connection connection, byte[] name, long session, Identity identity) throws SQLException {
        boolean keys = database.dialect().returnsTokenAsKey();
        try (PreparedStatement statement = keys
                ? connection.prepareStatement(sql.mint(), Statement.RETURN_GENERATED_KEYS)
                : connection.prepareStatement(sql.mint())) {
            new StatementBinder(statement).number(session).identity(identity).bytes(name);
            if (keys) {
                statement.executeUpdate();
            }
            try (ResultSet rows = keys ? statement.getGeneratedKeys() : statement.executeQuery()) {
                if (!rows.next()) {
                    throw new SQLException("the row that counts the tokens is missing; do not delete rows of '"
                            + database.table() + "'");
                }
                return rows.getLong(1);
            }
        }
    }

    /** The last holder, unless the row can be locked: that does it for a moment. */
    Optional<HolderInfo> holder(String name, long deadlineNanos) throws SQLException {
        Optional<HolderInfo> last = database.run(
                TransactionRunner.millisLeft(deadlineNanos),
                connection -> ExpiryRows.holder(connection, sql.info(), name));
        return last.isPresent() && isFree(name, deadlineNanos) ? Optional.empty() : last;
    }

    private boolean isFree(String name, long deadlineNanos) throws SQLException {
        return database.run(TransactionRunner.millisLeft(deadlineNanos), connection -> {
            try (PreparedStatement statement = connection.prepareStatement(sql.probe())) {
                statement.setBytes(1, LockName.utf8(name));
                try (ResultSet rows = statement.executeQuery()) {
                    return rows.next();
                }
            }
        });
    }

    /** On a thread that no caller awaits for longer than a request may take. */
    @Override
    public void close() {
        closed = true;
        lookout.end();
        long startNanos = System.nanoTime();
        long deadlineNanos = startNanos + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        long abandonedNanos = startNanos + TimeUnit.MILLISECONDS.toNanos(database.isSilent() ? 0 : timeoutMillis / 2);
        for (RowAcquisition hold : List.copyOf(holds.values())) {
            try {
                if (System.nanoTime() - abandonedNanos < 0) {
                    hold.abandon(abandonedNanos);
                    continue;
                }
            } catch (SQLException e) {
                // The server does not answer.
            }
            hold.abort();
        }
        sessions.close(deadlineNanos);
        Threads.end(executor);
    }
}
