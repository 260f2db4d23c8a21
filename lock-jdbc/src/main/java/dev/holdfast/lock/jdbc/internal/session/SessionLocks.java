package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.connection.Lookout;
import dev.holdfast.lock.jdbc.internal.connection.Threads;
import dev.holdfast.lock.jdbc.internal.sql.RecentContention;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.OwnerId;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What the acquisitions of one client have in common: their sessions, and the watch over these. Thread-safe. */
final class SessionLocks implements AutoCloseable {
    private static final long WATCH_MILLIS = 100;

    /**
     * How long a session that holds locks is silent at most. The server frees the locks of a session at once when it ends it, so
     * this plus one round trip is how late a client notices.
     */
    static final long HEARTBEAT_MILLIS = 500;

    /** Within that time a statement is answered that does not wait. */
    private static final long ROUND_TRIP_NANOS = TimeUnit.MICROSECONDS.toNanos(500);

    /** How long after its abandonment an attempt is refused. */
    private static final long ABANDONED_SECONDS = 60;

    private final String place;
    private final Connections connections;
    private final ExecutorService executor;
    private final SessionPool sessions;
    private final RecentContention handOvers = new RecentContention(System::nanoTime);
    private final HolderRows rows;
    private final long timeoutMillis;
    private final ConcurrentHashMap<OwnerId, SessionAcquisition> acquisitions = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<OwnerId, Long> abandoned = new ConcurrentHashMap<>();
    private final AtomicLong abandonedSweep = new AtomicLong(System.nanoTime());
    private final Lookout lookout;
    private volatile @Nullable GrantListener listener;
    private volatile boolean closed;

    SessionLocks(
            Database database,
            SessionStatements sql,
            String place,
            int waiters,
            ExecutorService executor,
            long timeoutMillis) {
        this.place = place;
        this.connections = database.connections();
        this.executor = executor;
        this.timeoutMillis = timeoutMillis;
        this.sessions =
                new SessionPool(database.connections(), database.dialect(), sql, waiters, executor, this::ended);
        this.rows = new HolderRows(database, sql, timeoutMillis);
        this.lookout = new Lookout(TimeUnit.MILLISECONDS.toNanos(WATCH_MILLIS), executor, this::look);
    }

    SessionPool sessions() {
        return sessions;
    }

    ExecutorService executor() {
        return executor;
    }

    /** Whether a statement of a session may run on this thread. */
    boolean runsHere() {
        return connections.runsHere();
    }

    /** The names that were handed over after a short wait lately. */
    RecentContention handOvers() {
        return handOvers;
    }

    /** Notes how long the statement took that acquired a lock after a wait. */
    void noteWait(String name, long nanos) {
        if (nanos > ROUND_TRIP_NANOS && nanos < TimeUnit.MILLISECONDS.toNanos(SessionWait.HERE_MILLIS)) {
            handOvers.add(name);
        }
    }

    HolderRows rows() {
        return rows;
    }

    /** From then on no hold that is not there yet may stay. */
    boolean isClosed() {
        return closed;
    }

    /** The end of a request that starts now. */
    long deadline() {
        return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    }

    SessionKey key(String name) {
        return SessionKey.of(place, name);
    }

    LockListing list(String prefix, int limit, long requestMillis) throws SQLException {
        return rows.list(place, prefix, limit, requestMillis);
    }

    /** Sets the listener that is notified of locks that ended between two renewals. */
    void listener(GrantListener listener) {
        this.listener = listener;
    }

    /**
     * The acquisition of that owner, which is new if it has none.
     *
     * @throws SQLException if it was abandoned before this attempt has begun: nothing would release what it acquires
     */
    SessionAcquisition acquisitionFor(AcquisitionId id) throws SQLException {
        lookout.begin();
        SessionAcquisition acquisition =
                acquisitions.computeIfAbsent(id.owner(), owner -> new SessionAcquisition(this, id, key(id.name())));
        if (abandoned.containsKey(id.owner())) {
            acquisitions.remove(id.owner(), acquisition);
            throw new SQLException("the attempt was abandoned", "08000");
        }
        return acquisition;
    }

    /** Ends an acquisition, also one whose attempt has not begun yet. */
    void abandon(OwnerId owner, long deadlineNanos) throws SQLException {
        long now = System.nanoTime();
        long sweep = abandonedSweep.get();
        if (now - sweep >= 0
                && abandonedSweep.compareAndSet(sweep, now + TimeUnit.SECONDS.toNanos(ABANDONED_SECONDS) / 10)) {
            abandoned.values().removeIf(since -> now - since > TimeUnit.SECONDS.toNanos(ABANDONED_SECONDS));
        }
        abandoned.put(owner, now);
        SessionAcquisition acquisition = acquisitions.get(owner);
        if (acquisition != null) {
            acquisition.abandon(deadlineNanos);
        }
    }

    @Nullable SessionAcquisition acquisition(OwnerId owner) {
        return acquisitions.get(owner);
    }

    /** The lease of a held lock: its first grant may have had less. */
    long leaseMillis(Grant grant) {
        SessionAcquisition acquisition = acquisitions.get(grant.acquisition().owner());
        return acquisition == null ? grant.leaseMillis() : acquisition.leaseMillis();
    }

    void forget(OwnerId owner, SessionAcquisition acquisition) {
        acquisitions.remove(owner, acquisition);
    }

    void forgetRow(SessionAcquisition acquisition) {
        if (rows.isDescribed(acquisition)) {
            onOurThread(() -> rows.forget(acquisition));
        }
    }

    /** Another thread reports it, since the session's own may hold an acquisition of which the listener is notified. */
    private void ended(HoldingSession session) {
        onOurThread(() -> {
            List<SessionHold> newestFirst = new ArrayList<>(session.held());
            newestFirst.sort(Comparator.comparingLong(SessionHold::token).reversed());
            for (SessionHold acquisition : newestFirst) {
                Grant lost = acquisition.endWithSession();
                GrantListener notified = listener;
                if (lost != null && notified != null) {
                    notified.lost(lost, LossReason.SESSION_LOST, String.valueOf(session.ended()));
                }
            }
        });
    }

    /** Looks after the sessions and what the table says about them; returns whether there are any. */
    private boolean look() {
        sessions.holding().forEach(this::check);
        boolean idle = sessions.sweep(this::onSomeThread);
        boolean needed = idle || !acquisitions.isEmpty();
        if (needed) {
            lookout.begin(); // the next look does not wait for the table
        }
        rows.describe(acquisitions.values());
        return needed;
    }

    private void check(HoldingSession session) {
        long silentNanos = System.nanoTime() - session.answeredNanos();
        if (session.isBusy()) {
            return; // its statement shows what has become of it
        }
        if (session.session().isClosed()) {
            onOurThread(
                    () -> session.end("its connection was closed; keep the pool from taking back connections in use"));
        } else if (silentNanos >= TimeUnit.MILLISECONDS.toNanos(HEARTBEAT_MILLIS - WATCH_MILLIS)) {
            onOurThread(() -> {
                try {
                    session.beat(deadline());
                } catch (SQLException e) {
                    // If the session has ended, that was reported.
                }
            });
        }
    }

    private void onOurThread(Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) {
            // Closed: nothing is held any more.
        }
    }

    private void onSomeThread(Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) {
            task.run(); // a pool gets its connection back in any case
        }
    }

    /** On a thread that no caller awaits for longer than a request may take. */
    @Override
    public void close() {
        closed = true;
        lookout.end();
        long deadlineNanos = deadline();
        for (SessionAcquisition acquisition : List.copyOf(acquisitions.values())) {
            try {
                acquisition.abandon(deadlineNanos);
            } catch (SQLException e) {
                // The server frees it when the connection has ended.
            }
        }
        sessions.close();
        Threads.end(executor);
    }
}
