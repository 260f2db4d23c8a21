package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements.Holding;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

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
        sql.describe(
                connection,
                new SessionStatements.Row(
                        acquisition.acquisition().name(),
                        acquisition.key(),
                        acquisition.token(),
                        session.lowestToken(acquisition),
                        session.session().id(),
                        acquisition.heldMillis(),
                        identity));
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

    /**
     * The holders, the lowest token first: from the rows, if their sessions have the lock. A session that has it without a row is known
     * by its number only. Of several readers of one session, those without a row are left out.
     */
    List<HolderInfo> holders(String name, SessionKey key, long deadlineNanos) throws SQLException {
        long untilNanos = Math.min(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS), deadlineNanos);
        while (true) {
            Answer answer = database.run(
                    TransactionRunner.millisLeft(deadlineNanos), connection -> read(connection, name, key));
            if (answer.unknown().isEmpty()) {
                return answer.holders();
            }
            if (System.nanoTime() - untilNanos + 2 * PAUSE_NANOS >= 0) {
                return withUnknown(answer, deadlineNanos);
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private List<HolderInfo> withUnknown(Answer answer, long deadlineNanos) throws SQLException {
        Instant now = serversTime(deadlineNanos);
        List<HolderInfo> holders = new ArrayList<>();
        for (Holding each : answer.unknown()) {
            Identity session = new Identity("session " + each.session() + " of the database", "", 0);
            holders.add(session.holderInfo(0, now, demand(each.reads()), 0));
        }
        holders.addAll(answer.holders());
        return holders;
    }

    private static Demand demand(boolean reads) {
        return reads ? Demand.SHARED : Demand.EXCLUSIVE;
    }

    /**
     * The locks whose holders have a row and hold them in this moment, by name: one statement. A lock appears when its row has been
     * written.
     */
    LockListing list(String place, String prefix, int limit, long timeoutMillis) throws SQLException {
        return database.run(timeoutMillis, connection -> {
            Map<String, List<HolderInfo>> held = new LinkedHashMap<>();
            try (PreparedStatement statement = connection.prepareStatement(sql.listing())) {
                sql.bindListing(statement, place, prefix, limit + 1);
                try (ResultSet rows = statement.executeQuery()) {
                    while (rows.next()) {
                        String name = new String(rows.getBytes(1), StandardCharsets.UTF_8);
                        Demand demand = demand(rows.getBoolean(5));
                        add(held.computeIfAbsent(name, key -> new ArrayList<>()), info(rows, 2, demand));
                    }
                }
            }
            List<ListedLock> locks = new ArrayList<>();
            held.forEach((name, holders) -> locks.add(new ListedLock(name, holders, List.of())));
            boolean more = locks.size() > limit;
            return new LockListing(more ? locks.subList(0, limit) : locks, more);
        });
    }

    /** Adds the holder of the next row. An exclusive lock has one: an earlier row is of an earlier hold of the same session. */
    private static void add(List<HolderInfo> holders, HolderInfo next) {
        if (next.demand() instanceof Demand.Exclusive) {
            holders.clear();
        }
        holders.add(next);
    }

    /** Reads token, identity and since. */
    private static HolderInfo info(ResultSet rows, int first, Demand demand) throws SQLException {
        Instant since = Instant.ofEpochMilli(rows.getLong(first + 2));
        return Identity.decode(rows.getString(first + 1)).holderInfo(rows.getLong(first), since, demand, 0);
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
        Map<Long, Holding> unknown = new LinkedHashMap<>();
        sql.holders(connection, key.lock()).forEach(each -> unknown.put(each.session(), each));
        Map<Long, Holding> sessions = Map.copyOf(unknown);
        List<HolderInfo> holders = new ArrayList<>();
        if (sessions.isEmpty()) {
            return new Answer(holders, List.of());
        }
        try (PreparedStatement statement = connection.prepareStatement(sql.info())) {
            new StatementBinder(statement).name(name);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    Holding holding = sessions.get(rows.getLong(4));
                    if (holding != null) {
                        unknown.remove(holding.session());
                        add(holders, info(rows, 1, demand(holding.reads())));
                    }
                }
            }
        }
        return new Answer(holders, List.copyOf(unknown.values()));
    }

    /**
     * What was read.
     *
     * @param unknown sessions that have the lock without a row
     */
    private record Answer(List<HolderInfo> holders, List<Holding> unknown) {}
}
