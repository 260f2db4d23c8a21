package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells waiters that a lock was released: by PostgreSQL's notifications for as long as they arrive, else by polling.
 *
 * <p><b>No release is missed.</b> A waiter listens first, then announces itself in the lock's row, in the column
 * {@code awaited} and in the row's {@link WaitingLine}, and is told in the same statement whether the lock is still held. A release
 * that comes later sees the announcement, since both write the row, and notifies; one that came before shows as a free lock. What
 * an attempt announced while this client listened counts as such, if nothing was heard between the attempt and the listener's
 * registration. An announcement holds for 15
 * seconds and is renewed by the poll that each waiter makes every five seconds in any case, so that a lost notification
 * costs no more than that, and nobody is notified about names that nobody waits for. Any role can listen, so a notification
 * bears the name's SHA-256 hash.
 *
 * <p><b>In order.</b> The notification names those in the line: the first one asks at once, and so do readers and whoever is not in it;
 * the next ones look a little later whether those before them came.
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
    private final AtomicLong heard = new AtomicLong();
    private volatile boolean live;

    PostgresWakeups(Database database) {
        this.database = database;
        this.executor = database::inBackground;
        this.channel = channel(database.table());
        this.listener = new PostgresListener(this, channel);
        WaitingLine line = new WaitingLine(Dialect.POSTGRESQL);
        String held = " WHERE name {=} ? AND NOT " + line.isFreeFor("asking.claimant") + " AND ";
        announce = PostgresSql.named("""
                WITH relaxed AS MATERIALIZED (SELECT pg_catalog.set_config('synchronous_commit', 'off', true) AS value),
                announced AS (
                  UPDATE %1$s SET awaited = pg_catalog.clock_timestamp() {+} interval '15 seconds',
                    waiters = CASE WHEN %5$s THEN %6$s ELSE waiters END%4$s, relaxed%2$s
                    relaxed.value IS NOT NULL AND (awaited IS NULL OR awaited {<} %3$s OR %5$s)
                  RETURNING 1)
                SELECT EXISTS (SELECT 1 FROM announced)
                  OR EXISTS (SELECT 1%4$s, %1$s%2$s awaited {>=} %3$s)""".formatted(
                        database.table(),
                        held,
                        "(pg_catalog.clock_timestamp() {+} interval '10 seconds')",
                        LineStatements.ASKING,
                        line.hasRoomFor("asking.entry"),
                        line.with("asking.entry")));
    }

    /** Where the releases of a table are told; tables of the same name share it, which costs a check now and then. */
    static String channel(TableName table) {
        return table.local().toLowerCase(Locale.ROOT);
    }

    /** What was heard so far, to be asked before an attempt is sent; negative while nothing is heard. */
    long heard() {
        return live ? heard.get() : -1;
    }

    /**
     * The ticket of an acquisition that found the lock busy and waits; it may have had one before.
     *
     * @param announced what was heard before the attempt that announced it; negative if it did not
     */
    WaitTicket busy(AcquisitionId acquisition, @Nullable Ticket before, long announced) {
        if (!(before instanceof WaitTicket ticket)) {
            WaitTicket first = new WaitTicket(acquisition);
            first.announcedWhen(announced);
            return first;
        }
        ticket.announcedWhen(announced);
        if (ticket.isListening()) {
            if (!live) {
                pollLater(ticket);
            } else if (announced >= 0) {
                ticket.announced();
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
        if (!live) {
            pollLater(waiter);
        } else if (waiter.announcedWhen() != heard.get()) {
            announceLater(waiter);
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
                if (ticket.isListening() && !announce(ticket.acquisition())) {
                    ticket.call();
                }
            } catch (SQLException e) {
                LOG.debug(
                        "lock '{}': waiting was not announced, polling instead",
                        LockName.printable(ticket.acquisition().name()),
                        e);
                pollLater(ticket);
            }
        });
    }

    private boolean announce(AcquisitionId acquisition) throws SQLException {
        return database.run(TIMEOUT_MILLIS, connection -> announce(connection, acquisition));
    }

    /** Returns whether the lock is not to be had now, so that its release will be told. */
    boolean announce(Connection connection, AcquisitionId acquisition) throws SQLException {
        String entry = WaitingLine.entry(acquisition);
        String claimant = WaitingLine.claimant(acquisition);
        try (PreparedStatement statement = connection.prepareStatement(announce)) {
            new Bind(statement)
                    .text(entry)
                    .text(claimant)
                    .name(acquisition.name())
                    .text(entry)
                    .text(claimant)
                    .name(acquisition.name());
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() && rows.getBoolean(1);
            }
        }
    }

    // ---- what the listener says and needs

    /** A notification has arrived: from a release, or from any other role, and then the check that follows finds the lock held. */
    void told(String payload) {
        heard.incrementAndGet(); // before it is seen who is registered
        int blank = payload.indexOf(' ');
        String hash = blank < 0 ? payload : payload.substring(0, blank);
        String line = payload.substring(blank + 1);
        for (WaitTicket ticket : waiting) {
            if (ticket.hash().equals(hash)) {
                told(ticket, WaitingLine.place(line, WaitingLine.entry(ticket.acquisition())));
            }
        }
    }

    private void told(WaitTicket ticket, int place) {
        int turn = ticket.nextTurn();
        if (place <= 0 || !(ticket.acquisition().demand() instanceof Demand.Exclusive)) {
            ticket.call();
            return;
        }
        long delayMillis = LineTicket.passedOverMillis(place);
        if (delayMillis >= 0) {
            CompletableFuture.delayedExecutor(delayMillis, TimeUnit.MILLISECONDS, executor)
                    .execute(() -> ticket.callFor(turn));
        }
    }

    /** Whether notifications arrive from now on. */
    void live(boolean now) {
        if (live == now) {
            return;
        }
        live = now;
        heard.incrementAndGet();
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
