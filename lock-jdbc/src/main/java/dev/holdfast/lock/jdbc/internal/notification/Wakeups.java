package dev.holdfast.lock.jdbc.internal.notification;

import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.sql.Notifications;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Notifies waiters of a release: by the database's notifications while they arrive, else by polling.
 *
 * <p><b>No release is missed.</b> A waiter first listens. Then it announces itself in the lock's row, in the column
 * {@code awaited}; the same statement returns whether the lock is still held. A later release sees the announcement, since
 * both write the row, and notifies. An earlier one shows as a free lock, or as room for permits, which their waiter checks
 * once after its announcement. An announcement is valid for 15 seconds. The poll that each waiter makes every five seconds
 * renews it, so a lost notification costs at most that time. No notification is sent for a name without waiters. Any role
 * can listen, so a notification has the SHA-256 hash of the name.
 *
 * <p><b>Trust.</b> Behind a proxy that pools transactions, LISTEN may succeed although no notification ever arrives.
 * Notifications are therefore used only after one that was sent on another connection has arrived. When the listening
 * connection breaks, the waiters poll until the next one works.
 *
 * <p>Thread-safe. Uses one connection and one thread while there are waiters, and ten seconds longer.
 */
public final class Wakeups implements AutoCloseable {
    private static final BackgroundLog LOG = BackgroundLog.of(Wakeups.class);
    private static final long ANNOUNCE_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(3_500);
    private static final long TIMEOUT_MILLIS = 3_000;

    private final Database database;
    private final Executor executor;
    private final Notifications notifications;
    private final Set<WaitTicket> waiting = ConcurrentHashMap.newKeySet();
    private final NotificationListener listener;
    private volatile boolean live;

    /** The ticker applies to listening only. */
    private Wakeups(Database database, Notifications notifications, LongSupplier nanoTime) {
        this.database = database;
        this.executor = database::inBackground;
        this.notifications = notifications;
        this.listener = new NotificationListener(this, notifications, nanoTime);
    }

    /** Null if the database has no notifications. */
    public static @Nullable Wakeups of(Database database, LongSupplier nanoTime) {
        Notifications notifications = database.dialect().notifications(database.table());
        return notifications == null ? null : new Wakeups(database, notifications, nanoTime);
    }

    /** The ticket of an acquisition that found the lock busy and waits; it may have a ticket already. */
    public WaitTicket busy(AcquisitionId acquisition, @Nullable Ticket before) {
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

    public Subscription listen(Ticket ticket, Runnable onMaybeFree) {
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
                        "lock '{}': waiting could not be announced, polling instead",
                        LockName.printable(ticket.name()),
                        e);
                pollLater(ticket);
            }
        });
    }

    /** Returns whether the lock is held, so that its release will be notified. */
    private boolean announce(String name) throws SQLException {
        byte[] bytes = LockName.utf8(name);
        return database.run(TIMEOUT_MILLIS, connection -> {
            try (PreparedStatement statement = connection.prepareStatement(notifications.announce())) {
                statement.setBytes(1, bytes);
                statement.setBytes(2, bytes);
                try (ResultSet rows = statement.executeQuery()) {
                    return rows.next() && rows.getBoolean(1);
                }
            }
        });
    }

    // ---- called by the listener

    /** Handles a notification, of a release or of any other role. In the second case the next check finds the lock held. */
    void notified(String payload) {
        for (WaitTicket ticket : waiting) {
            if (ticket.payload().equals(payload)) {
                ticket.call();
            }
        }
    }

    /** Sets whether notifications arrive. */
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

    public boolean isNeeded() {
        return !waiting.isEmpty();
    }

    Connections connections() {
        return database.connections();
    }

    public void inBackground(Runnable task) {
        executor.execute(task);
    }

    /** Notifies on a connection other than the listening one. */
    void sayHello(String payload) {
        executor.execute(() -> {
            try {
                database.run(TIMEOUT_MILLIS, connection -> {
                    try (PreparedStatement statement = connection.prepareStatement(notifications.send())) {
                        statement.setString(1, notifications.channel());
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
