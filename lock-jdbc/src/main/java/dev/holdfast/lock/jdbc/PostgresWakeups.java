package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells waiters that a lock was released: by PostgreSQL's notifications for as long as they arrive, else by polling.
 *
 * <p><b>No release is missed.</b> A waiter listens first, then announces itself in the lock's row, in the column
 * {@code awaited}, and is told in the same statement whether the lock is still held. A release that comes later sees the
 * announcement, since both write the row, and notifies; one that came before shows as a free lock, or as room for permits, for which
 * their waiter asks once when it has announced itself. An announcement holds for 15
 * seconds and is renewed by the poll that each waiter makes every five seconds in any case, so that a lost notification
 * costs no more than that, and nobody is notified about names that nobody waits for. Any role can listen, so a notification
 * bears the name's SHA-256 hash.
 *
 * <p><b>Trust.</b> A connection that says LISTEN may be answered by a proxy that pools transactions, and never hear anything.
 * So notifications count only once one that was sent on another connection has arrived. When the listening connection breaks,
 * the waiters poll until the next one works.
 *
 * <p>Thread-safe. One connection and one thread, while there are waiters and ten seconds longer.
 */
final class PostgresWakeups implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PostgresWakeups.class);
    private static final long ANNOUNCE_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(3_500);
    private static final long TIMEOUT_MILLIS = 3_000;
    private static final String NOTIFY =
            "SELECT pg_catalog.pg_notify(" + PostgresSql.TEXT + ", " + PostgresSql.TEXT + ")";

    private final Database database;
    private final Executor executor;
    private final String channel;
    private final String announce;
    private final Set<WaitTicket> waiting = ConcurrentHashMap.newKeySet();
    private final PostgresListener listener;
    private volatile boolean live;

    PostgresWakeups(Database database) {
        this(database, System::nanoTime);
    }

    /** The time is for listening alone. */
    PostgresWakeups(Database database, LongSupplier nanoTime) {
        this.database = database;
        this.executor = database::inBackground;
        this.channel = PostgresSql.channel(database.table());
        this.listener = new PostgresListener(this, channel, nanoTime);
        String held = " WHERE name {=} ? AND owner IS NOT NULL AND expires {>} pg_catalog.clock_timestamp() AND ";
        announce = PostgresSql.named(
                """
                WITH relaxed AS MATERIALIZED (SELECT pg_catalog.set_config('synchronous_commit', 'off', true) AS value),
                announced AS (
                  UPDATE %1$s SET awaited = pg_catalog.clock_timestamp() {+} interval '15 seconds' FROM relaxed%2$s
                    relaxed.value IS NOT NULL AND (awaited IS NULL OR awaited {<} %3$s)
                  RETURNING 1)
                SELECT EXISTS (SELECT 1 FROM announced)
                  OR EXISTS (SELECT 1 FROM %1$s%2$s awaited {>=} %3$s)""".formatted(database.table(), held, "(pg_catalog.clock_timestamp() {+} interval '10 seconds')"));
    }

    /** Where the releases of a table are told; tables of the same name share it, which costs a check now and then. */
    /** The ticket of an acquisition that found the lock busy and waits; it may have had one before. */
    WaitTicket busy(AcquisitionId acquisition, @Nullable Ticket before) {
        if (!(before instanceof WaitTicket ticket)) {
            return new WaitTicket(acquisition);
        }
        if (ticket.isListening()) {
            if (!live) {
                pollLater(ticket);
            } else if (ticket.announcedLongerAgoThan(ANNOUNCE_AGAIN_NANOS)) {
                announceLater(ticket);
            }
        }
        return ticket;
    }

    Subscription listen(Ticket ticket, Runnable onMaybeFree) {
        WaitTicket waiter = (WaitTicket) ticket;
        waiter.listener(onMaybeFree);
        waiting.add(waiter);
        if (live) {
            announceLater(waiter);
        } else {
            pollLater(waiter);
        }
        listener.needed();
        return () -> {
            waiter.listener(null);
            waiting.remove(waiter);
        };
    }

    private void pollLater(WaitTicket ticket) {
        CompletableFuture.delayedExecutor(ticket.nextPollNanos(), TimeUnit.NANOSECONDS, executor)
                .execute(ticket::call);
    }

    private void announceLater(WaitTicket ticket) {
        ticket.announced();
        executor.execute(() -> {
            try {
                if (ticket.isListening() && (!announce(ticket.name()) || ticket.mayHaveMissedRoom())) {
                    ticket.call();
                }
            } catch (SQLException e) {
                LOG.debug(
                        "lock '{}': waiting was not announced, polling instead", LockName.printable(ticket.name()), e);
                pollLater(ticket);
            }
        });
    }

    /** Returns whether the lock is held, so that its release will be told. */
    private boolean announce(String name) throws SQLException {
        byte[] bytes = LockName.utf8(name);
        return database.run(TIMEOUT_MILLIS, connection -> {
            try (PreparedStatement statement = connection.prepareStatement(announce)) {
                statement.setBytes(1, bytes);
                statement.setBytes(2, bytes);
                try (ResultSet rows = statement.executeQuery()) {
                    return rows.next() && rows.getBoolean(1);
                }
            }
        });
    }

    // ---- what the listener says and needs

    /** A notification has arrived: from a release, or from any other role, and then the check that follows finds the lock held. */
    void told(String payload) {
        for (WaitTicket ticket : waiting) {
            if (ticket.payload().equals(payload)) {
                ticket.call();
            }
        }
    }

    /** Whether notifications arrive from now on. */
    void live(boolean now) {
        if (live == now) {
            return;
        }
        live = now;
        for (WaitTicket ticket : waiting) {
            if (now) {
                announceLater(ticket);
            } else {
                pollLater(ticket);
            }
        }
    }

    boolean isNeeded() {
        return !waiting.isEmpty();
    }

    Connections connections() {
        return database.connections();
    }

    void inBackground(Runnable task) {
        executor.execute(task);
    }

    /** Notifies on another connection than the listening one. */
    void sayHello(String payload) {
        executor.execute(() -> {
            try {
                database.run(TIMEOUT_MILLIS, connection -> {
                    try (PreparedStatement statement = connection.prepareStatement(NOTIFY)) {
                        statement.setString(1, channel);
                        statement.setString(2, payload);
                        statement.executeQuery().close();
                        return true;
                    }
                });
            } catch (SQLException e) {
                LOG.debug("lock table '{}': no notification could be sent", database.table(), e);
            }
        });
    }

    @Override
    public void close() {
        listener.close();
        waiting.clear();
    }
}
