package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.jdbc.internal.sql.StatementBinder;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The rows that tell people who holds a lock. They are for reading only: exclusion does not depend on them.
 *
 * <p>A row costs a commit, which a lock of this strategy does without. So it is written in the background, and only for a lock that
 * is held for longer than {@value #DESCRIBE_MILLIS} ms. Thread-safe.
 */
final class HolderRows {
    static final long DESCRIBE_MILLIS = 100;

    /** How long a question waits for the row of a lock that was acquired just now. */
    private static final long PATIENCE_MILLIS = 1_000;

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final Database database;
    private final SessionStatements sql;
    private final long timeoutMillis;
    private final ConcurrentHashMap<OwnerId, SessionAcquisition> described = new ConcurrentHashMap<>();
    private final AtomicBoolean writing = new AtomicBoolean();

    HolderRows(Database database, SessionStatements sql, long timeoutMillis) {
        this.database = database;
        this.sql = sql;
        this.timeoutMillis = timeoutMillis;
    }

    boolean isDescribed(SessionAcquisition acquisition) {
        return described.containsKey(acquisition.acquisition().owner());
    }

    /** Writes the rows of those that have been held for a while; does nothing while another thread does that. */
    void describe(Collection<SessionAcquisition> all) {
        List<SessionAcquisition> due = all.stream()
                .filter(each -> each.holding() != null && each.heldMillis() >= DESCRIBE_MILLIS && !isDescribed(each))
                .toList();
        if (due.isEmpty() || !writing.compareAndSet(false, true)) {
            return;
        }
        try {
            due.forEach(each -> described.put(each.acquisition().owner(), each));
            database.run(timeoutMillis, connection -> {
                for (SessionAcquisition each : due) {
                    describe(connection, each);
                }
                return true;
            });
        } catch (SQLException | RuntimeException e) {
            due.forEach(each -> described.remove(each.acquisition().owner())); // the next time
        } finally {
            writing.set(false);
        }
        due.stream().filter(each -> each.holding() == null).forEach(this::forget); // released meanwhile
    }

    private void describe(Connection connection, SessionAcquisition acquisition) throws SQLException {
        HoldingSession session = acquisition.holding();
        Identity identity = acquisition.identity();
        if (session == null || identity == null) {
            return;
        }
        try (PreparedStatement statement = connection.prepareStatement(sql.describe())) {
            new StatementBinder(statement)
                    .name(acquisition.acquisition().name())
                    .number(acquisition.token())
                    .number(session.session().id())
                    .number(acquisition.heldMillis())
                    .identity(identity);
            statement.executeUpdate();
        }
    }

    /** Deletes the row of a lock that was released. */
    void forget(SessionAcquisition acquisition) {
        if (described.remove(acquisition.acquisition().owner()) == null) {
            return;
        }
        try {
            database.run(timeoutMillis, connection -> {
                try (PreparedStatement statement = connection.prepareStatement(sql.forget())) {
                    new StatementBinder(statement)
                            .name(acquisition.acquisition().name())
                            .number(acquisition.token());
                    return statement.executeUpdate();
                }
            });
        } catch (SQLException | RuntimeException e) {
            // The row does not count while its session does not hold the lock, and the next holder's replaces it.
        }
    }

    /** The holder: from the row, if its session has the lock. A lock without a row is known by its session only. */
    Optional<HolderInfo> holder(String name, SessionKey key, long deadlineNanos) throws SQLException {
        long untilNanos = Math.min(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS), deadlineNanos);
        while (true) {
            Answer answer = database.run(
                    TransactionRunner.millisLeft(deadlineNanos), connection -> read(connection, name, key));
            if (answer.session() == 0) {
                return Optional.empty();
            }
            if (answer.holder() != null) {
                return Optional.of(answer.holder());
            }
            if (System.nanoTime() - untilNanos + 2 * PAUSE_NANOS >= 0) {
                Identity session = new Identity("session " + answer.session() + " of the database", "", 0);
                return Optional.of(session.holderInfo(0, serversTime(deadlineNanos)));
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /**
     * The locks whose holders have a row and hold them in this moment, by name: one statement. A lock appears when its row has been
     * written.
     */
    LockListing list(String place, String prefix, int limit, long timeoutMillis) throws SQLException {
        return database.run(timeoutMillis, connection -> {
            List<ListedLock> locks = new ArrayList<>();
            try (PreparedStatement statement = connection.prepareStatement(sql.listing())) {
                new StatementBinder(statement)
                        .range(prefix)
                        .bytes(SessionKey.beforeName(place))
                        .number(limit + 1L);
                try (ResultSet rows = statement.executeQuery()) {
                    while (rows.next()) {
                        String name = new String(rows.getBytes(1), StandardCharsets.UTF_8);
                        Instant since = Instant.ofEpochMilli(rows.getLong(4));
                        HolderInfo holder = Identity.decode(rows.getString(3)).holderInfo(rows.getLong(2), since);
                        locks.add(new ListedLock(name, List.of(holder), List.of()));
                    }
                }
            }
            boolean more = locks.size() > limit;
            return new LockListing(more ? locks.subList(0, limit) : locks, more);
        });
    }

    /** For a lock without a row: when it was acquired is not known. */
    private Instant serversTime(long deadlineNanos) throws SQLException {
        DatabaseDialect dialect = database.dialect();
        return database.run(TransactionRunner.millisLeft(deadlineNanos), connection -> {
            try (PreparedStatement statement =
                            connection.prepareStatement("SELECT " + dialect.epochMillis(dialect.now()));
                    ResultSet rows = statement.executeQuery()) {
                rows.next();
                return Instant.ofEpochMilli(rows.getLong(1));
            }
        });
    }

    private Answer read(Connection connection, String name, SessionKey key) throws SQLException {
        long session = sql.holder(connection, key.lock());
        if (session == 0) {
            return new Answer(0, null);
        }
        try (PreparedStatement statement = connection.prepareStatement(sql.info())) {
            new StatementBinder(statement).name(name);
            try (ResultSet rows = statement.executeQuery()) {
                if (!rows.next() || rows.getLong(4) != session) {
                    return new Answer(session, null);
                }
                Instant since = Instant.ofEpochMilli(rows.getLong(3));
                Identity identity = Identity.decode(rows.getString(2));
                return new Answer(session, identity.holderInfo(rows.getLong(1), since));
            }
        }
    }

    private record Answer(long session, @Nullable HolderInfo holder) {}
}
