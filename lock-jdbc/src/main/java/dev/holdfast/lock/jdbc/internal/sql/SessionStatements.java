package dev.holdfast.lock.jdbc.internal.sql;

import dev.holdfast.lock.spi.Identity;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;

/**
 * The statements of strategy SESSION, by dialect: locks of the database's own that belong to a session. Each is one request,
 * outside of a transaction. Immutable.
 *
 * <p>A statement that fails may have acquired its lock, which {@link #unlockIfHeld} then releases.
 */
public abstract class SessionStatements {

    /**
     * The answer to an attempt.
     *
     * @param token empty if another session has the lock
     * @param session the server's number of the session that answered
     */
    public record Attempt(OptionalLong token, long session) {}

    /**
     * The answer to several attempts.
     *
     * @param tokens in the order of the attempts, empty if another session has the lock
     * @param session the server's number of the session that answered
     */
    public record Attempts(List<OptionalLong> tokens, long session) {}

    /**
     * A session that has a lock.
     *
     * @param reads whether it shares the lock with other readers
     */
    public record Holding(long session, boolean reads) {}

    /**
     * What the row of a holder tells people.
     *
     * @param lowestToken the lowest token with which its session has the lock, which is not its own if several readers have it
     * @param session the server's number of the session
     * @param heldMillis for how long it has had the lock
     */
    public record Row(
            String name,
            SessionKey key,
            long token,
            long lowestToken,
            long session,
            long heldMillis,
            Identity identity) {}

    /** How many tokens a session skips when it is opened. */
    protected static final int SKIPPED = 1_000;

    /** Reads the table's name as the database has it, the same however a client writes it. */
    public abstract String placeQuery();

    /** Acquires the lock in its parameter if that needs no wait, and then draws a token: an expression, null without a lock. */
    protected abstract String tryLock();

    /** The session, and zero if the server is read-only: an expression. */
    protected abstract String session();

    /** Waits for the turn; returns whether it has it. */
    protected abstract String awaitTurn();

    /** Waits for the lock, draws a token and then gives up the turn; returns the token, and the session. */
    protected abstract String awaitLock();

    /**
     * Takes the turn if it is free, and then does what {@link #awaitLock} does; returns no token if the turn is not free. One request less
     * than both: others may release the lock meanwhile.
     */
    protected abstract String awaitBoth(boolean reads);

    /**
     * Acquires the lock for a reader and returns a token and the session, as {@link #awaitLock}, if that needs no wait and no other session
     * has the turn: that one, perhaps a writer, goes first. The parameters are the turn twice, then the lock.
     */
    protected String tryRead() {
        throw new UnsupportedOperationException("no shared locks");
    }

    /** Draws a token for a reader of a session that has the lock for another one, unless the turn is another session's. */
    protected String joinReaders() {
        throw new UnsupportedOperationException("no shared locks");
    }

    /** The same as {@link #awaitLock} for a reader. */
    protected String awaitRead() {
        throw new UnsupportedOperationException("no shared locks");
    }

    /** Releases a reader's lock; returns whether the session had it. */
    protected String unlockRead() {
        throw new UnsupportedOperationException("no shared locks");
    }

    /** Releases the lock in its parameter: an expression, true if the session had it. */
    protected abstract String unlock();

    /** Releases the lock if the session has it, as a writer or as a reader. */
    protected abstract String unlockIfHeld();

    /** Reads which sessions have the lock, and whether they read. */
    protected abstract String holders();

    /**
     * Makes the next token higher than all that a crash of the server has taken back. Both databases write a sequence's progress to the
     * disk only now and then; the sessions that drew the latest tokens ended with the crash.
     */
    public abstract void skipTokens(Connection connection) throws SQLException;

    protected abstract void bindKey(PreparedStatement statement, int index, long key) throws SQLException;

    protected abstract void bindTurn(PreparedStatement statement, long seconds, SessionKey key) throws SQLException;

    protected abstract void bindWait(PreparedStatement statement, long seconds, SessionKey key) throws SQLException;

    protected abstract void bindBoth(PreparedStatement statement, long millis, SessionKey key) throws SQLException;

    /**
     * Lets the server keep a silent session for longer than the lease, and not for much longer.
     *
     * @param first whether the session still has its own settings
     * @return what restores its own settings, if this is the first time
     */
    public abstract SqlWork<?> outlast(Connection connection, long leaseMillis, boolean first) throws SQLException;

    /** Writes the row that tells people who has the lock, and ends rows of earlier holders. */
    public abstract void describe(Connection connection, Row row) throws SQLException;

    public abstract String forget();

    /** Reads token, identity, since and session of a name, the lowest token first. */
    public abstract String info();

    /**
     * Reads name, token, identity, since and whether it reads, by name and token, of the rows in a range of names whose session has the
     * lock of that name. The parameters are those of {@link #bindListing}.
     */
    public abstract String listing();

    /**
     * Binds the parameters of {@link #listing}.
     *
     * @param place as in {@link SessionKey}
     * @param names how many names to read
     */
    public abstract void bindListing(PreparedStatement statement, String place, String prefix, int names)
            throws SQLException;

    /** Attempts for several locks, in one statement. */
    public final Attempts tryLock(Connection connection, List<SessionKey> keys) throws SQLException {
        String each = String.join(", ", Collections.nCopies(keys.size(), tryLock()));
        try (PreparedStatement statement = connection.prepareStatement("SELECT " + each + ", " + session())) {
            for (int i = 0; i < keys.size(); i++) {
                bindKey(statement, i + 1, keys.get(i).lock());
            }
            try (ResultSet rows = only(statement)) {
                List<OptionalLong> tokens = new ArrayList<>();
                for (int i = 0; i < keys.size(); i++) {
                    tokens.add(token(rows, i + 1));
                }
                return new Attempts(tokens, rows.getLong(keys.size() + 1));
            }
        }
    }

    public final Attempt tryRead(Connection connection, SessionKey key) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(tryRead())) {
            bindKey(statement, 1, key.turn());
            bindKey(statement, 2, key.turn());
            bindKey(statement, 3, key.lock());
            return attempt(statement);
        }
    }

    /** The token of one more reader of a session that has the lock for others; empty if the turn is another session's. */
    public final Attempt joinReaders(Connection connection, SessionKey key) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(joinReaders())) {
            bindKey(statement, 1, key.turn());
            bindKey(statement, 2, key.turn());
            return attempt(statement);
        }
    }

    private static Attempt attempt(PreparedStatement statement) throws SQLException {
        try (ResultSet rows = only(statement)) {
            return new Attempt(token(rows, 1), rows.getLong(2));
        }
    }

    private static OptionalLong token(ResultSet rows, int column) throws SQLException {
        long token = rows.getLong(column);
        return rows.wasNull() ? OptionalLong.empty() : OptionalLong.of(token);
    }

    /** The only row of the answer. */
    private static ResultSet only(PreparedStatement statement) throws SQLException {
        ResultSet rows = statement.executeQuery();
        if (!rows.next()) {
            throw new SQLException("the server has returned no row", "08000");
        }
        return rows;
    }

    /** Whether the session has the turn. */
    public final boolean awaitTurn(
            Connection connection, SessionKey key, long seconds, Consumer<PreparedStatement> running)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(awaitTurn())) {
            bindTurn(statement, seconds, key);
            running.accept(statement);
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() && rows.getBoolean(1);
            }
        }
    }

    public final Attempt awaitLock(
            Connection connection, SessionKey key, boolean reads, long seconds, Consumer<PreparedStatement> running)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(reads ? awaitRead() : awaitLock())) {
            bindWait(statement, seconds, key);
            running.accept(statement);
            return attempt(statement);
        }
    }

    /** Waits for the lock, if the turn is free; without a token it may have the turn. */
    public final Attempt awaitBoth(
            Connection connection, SessionKey key, boolean reads, long millis, Consumer<PreparedStatement> running)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(awaitBoth(reads))) {
            bindBoth(statement, millis, key);
            running.accept(statement);
            return attempt(statement);
        }
    }

    /** Releases several locks, in one statement; whether the session had each of them. */
    public final List<Boolean> unlock(Connection connection, List<Long> keys) throws SQLException {
        String each = String.join(", ", Collections.nCopies(keys.size(), unlock()));
        try (PreparedStatement statement = connection.prepareStatement("SELECT " + each)) {
            for (int i = 0; i < keys.size(); i++) {
                bindKey(statement, i + 1, keys.get(i));
            }
            try (ResultSet rows = only(statement)) {
                List<Boolean> had = new ArrayList<>();
                for (int i = 0; i < keys.size(); i++) {
                    had.add(rows.getBoolean(i + 1));
                }
                return had;
            }
        }
    }

    /** Whether the session had the lock for readers. */
    public final boolean unlockRead(Connection connection, long key) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(unlockRead())) {
            bindKey(statement, 1, key);
            try (ResultSet rows = only(statement)) {
                return rows.getBoolean(1);
            }
        }
    }

    public final void unlockIfHeld(Connection connection, long key) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(unlockIfHeld())) {
            bindKey(statement, 1, key);
            statement.executeQuery().close();
        }
    }

    /** The sessions that have the lock; none if it is free. */
    public final List<Holding> holders(Connection connection, long key) throws SQLException {
        List<Holding> holders = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(holders())) {
            bindKey(statement, 1, key);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    long session = rows.getLong(1);
                    if (session != 0) {
                        holders.add(new Holding(session, rows.getBoolean(2)));
                    }
                }
            }
        }
        return holders;
    }

    /** The number that a query returns. */
    protected static long number(Connection connection, String query) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(query);
                ResultSet rows = statement.executeQuery()) {
            return rows.next() ? rows.getLong(1) : 0;
        }
    }

    /** The session that answers. */
    public final long heartbeat(Connection connection) throws SQLException {
        return number(connection, "SELECT " + session());
    }

    /** The lease in whole seconds, rounded up. */
    protected static long seconds(long leaseMillis) {
        return (leaseMillis + 999) / 1_000;
    }

    /** The columns of the row that tells people who has a lock. */
    protected static final List<String> COLUMNS = List.of("name", "token", "session", "since", "holder");
}
