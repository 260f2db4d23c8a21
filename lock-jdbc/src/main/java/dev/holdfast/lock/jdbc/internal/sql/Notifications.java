package dev.holdfast.lock.jdbc.internal.sql;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

/** How clients notify each other through a database: its statements, and how its driver receives what was sent. Immutable. */
public interface Notifications {

    /** Where the notifications of a lock table are sent. */
    String channel();

    /** Announces a waiter in the lock's row, given the name twice; returns whether the lock is held, so that its release notifies. */
    String announce();

    /** Sends a notification, given the channel and the payload. */
    String send();

    /** Begins to listen to the channel. */
    String listen();

    /** Ends what {@link #listen} began. */
    String unlisten();

    /**
     * Takes the driver's own connection out of the pool's.
     *
     * @throws SQLException if the pool hides it, or the driver is another one
     */
    Receiver receiver(Connection pooled) throws SQLException;

    /** A connection that receives. */
    interface Receiver {
        /** For statements; the driver's own if possible. */
        Connection connection();

        /** Returns the payloads that have arrived, and waits for the first of them. */
        List<String> read(int timeoutMillis) throws SQLException;
    }
}
