package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.ClientThreads;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the link of the moment, and replaces it by a new connection when it is of no use any more:
 *
 * <ul>
 *   <li>It leads to a server that has become a replica. Sentinel, or a name, leads the new one to the master.
 *   <li>It, or in a cluster the connection to one server, has gone silent: a router may have dropped it without notice to
 *       either side, and the operating system would notice after a quarter of an hour. In a cluster a server that hangs may
 *       have a successor, too.
 *   <li>Its replies do not belong to the commands any more ({@link RepliesInOrder}).
 *   <li>It was idle for {@value #IDLE_MILLIS} ms or more, and the next request has got no answer in a part of its time.
 *   <li>It is down, and the client below has not brought it back for {@value #DOWN_MILLIS} ms. Trying it ourselves shows
 *       why: a refused password is reported to the callers, and tried again less and less often.
 * </ul>
 *
 * However many commands notice, a link is replaced once, and a new one gets {@value #PAUSE_MILLIS} ms before it may be
 * found wrong in its turn. The user's own connection is never replaced. Thread-safe.
 */
final class ConnectionSupervisor {
    private static final BackgroundLog LOG = BackgroundLog.of(ConnectionSupervisor.class);
    private static final int DEAD_AFTER = 3;
    private static final long DEAD_AFTER_NANOS = 2_000_000_000L;
    private static final long IDLE_MILLIS = 2_000;
    private static final long PAUSE_MILLIS = 100;
    private static final long PAUSE_NANOS = PAUSE_MILLIS * 1_000_000;
    private static final long DOWN_MILLIS = 1_000;
    private static final long DOWN_NANOS = DOWN_MILLIS * 1_000_000;
    private static final long MAX_PAUSE_NANOS = 5_000_000_000L;
    private static final long LAST_REPLIES_MILLIS = 3_000;

    private final ConnectionFactory factory;
    private final LongSupplier nanoTime;
    private final Map<String, Silence> servers = new ConcurrentHashMap<>();
    private final AtomicBoolean connecting = new AtomicBoolean();
    private final AtomicLong lookedNanos;
    private final Queue<Consumer<ConnectionFactory.Link>> awaiting = new ConcurrentLinkedQueue<>();
    private volatile ConnectionFactory.Link link;
    private volatile long linkedNanos;
    private volatile boolean down;
    private volatile long downNanos;
    private volatile long triedNanos;
    private volatile long pauseNanos;
    private volatile @Nullable Throwable refusal;
    private volatile boolean closed;

    /** Connects; blocks, fails with the client's own exceptions. */
    ConnectionSupervisor(ConnectionFactory factory, LongSupplier nanoTime) {
        this.factory = factory;
        this.nanoTime = nanoTime;
        this.lookedNanos = new AtomicLong(nanoTime.getAsLong() - PAUSE_NANOS);
        this.link = factory.connect();
        this.linkedNanos = nanoTime.getAsLong();
    }

    ConnectionFactory.Link link() {
        return link;
    }

    /** A command for a server has ended; null if it has worked. */
    void ended(ConnectionFactory.Link used, String server, @Nullable Throwable failure) {
        if (failure == null || failure instanceof RedisCommandExecutionException) {
            answered(server);
        } else if (failure instanceof TimeoutException || failure instanceof RedisCommandTimeoutException) {
            if (silence(server).isDeath()) {
                replace(used);
            }
        } else if (failure instanceof RepliesInOrder.OutOfOrderException) {
            replace(used);
        } else {
            disconnected(used);
        }
    }

    /** Whether a server was asked nothing for a while, and had answered everything before. */
    boolean isIdle(ConnectionFactory.Link used, String server) {
        if (!factory.connects() || used != link) {
            return false;
        }
        Silence known = servers.get(server);
        long since = known == null ? linkedNanos : known.answeredNanos;
        return (known == null || known.unanswered.get() == 0)
                && nanoTime.getAsLong() - since > TimeUnit.MILLISECONDS.toNanos(IDLE_MILLIS);
    }

    /** Replaces a link, unless that has happened, and passes the next one on; does nothing if none is possible. */
    void replaceThen(ConnectionFactory.Link silent, Consumer<ConnectionFactory.Link> action) {
        awaiting.add(action);
        replace(silent);
        if (link != silent) {
            passOn();
        } else if (!connecting.get()) {
            awaiting.remove(action);
        }
    }

    /** In the order of the requests. */
    private void passOn() {
        for (Consumer<ConnectionFactory.Link> next = awaiting.poll(); next != null; next = awaiting.poll()) {
            next.accept(link);
        }
    }

    private Silence silence(String server) {
        Silence known = servers.get(server);
        return known != null ? known : servers.computeIfAbsent(server, key -> new Silence());
    }

    private void answered(String server) {
        silence(server).end();
        if (down || refusal != null) {
            down = false;
            refusal = null;
            pauseNanos = 0;
        }
    }

    private void disconnected(ConnectionFactory.Link used) {
        if (used != link || used.closed().getAsBoolean()) {
            return;
        }
        long now = nanoTime.getAsLong();
        if (!down) {
            downNanos = now;
            down = true;
        } else if (now - downNanos > DOWN_NANOS) {
            replace(used);
        }
    }

    /** The failure for the caller: why there is no connection, if that is known. */
    Throwable told(ConnectionFactory.Link used, Throwable failure) {
        if (isGone(used)) {
            return gone(failure);
        }
        Throwable why = refusal;
        return why == null || failure instanceof RedisCommandExecutionException ? failure : why;
    }

    /** Returns whether another party has closed the link permanently. A command might then never end. */
    boolean isGone(ConnectionFactory.Link used) {
        return !closed && used == link && used.closed().getAsBoolean();
    }

    static LockClosedException gone(@Nullable Throwable cause) {
        return new LockClosedException(
                "the connection to Redis was closed before the lock client; close the lock client first", cause);
    }

    /** The server at the end of this link does not have the key, or is a replica. */
    void wrongServer(ConnectionFactory.Link used) {
        long now = nanoTime.getAsLong();
        long looked = lookedNanos.get();
        if (used != link || now - looked < PAUSE_NANOS || !lookedNanos.compareAndSet(looked, now)) {
            return;
        }
        if (factory.cluster()) {
            used.wrongServer().run();
        } else {
            replace(used);
        }
    }

    private void replace(ConnectionFactory.Link old) {
        if (closed
                || !factory.connects()
                || pauseNanos > 0 && nanoTime.getAsLong() - triedNanos < pauseNanos
                || !connecting.compareAndSet(false, true)) {
            return;
        }
        if (link != old) {
            connecting.set(false);
            return;
        }
        ClientThreads.start("holdfast-redis-connect", () -> connectAnew(old), () -> connecting.set(false));
    }

    private void connectAnew(ConnectionFactory.Link old) {
        try {
            if (factory.cluster()) {
                old.wrongServer().run();
            }
            link = factory.connect();
            refused(null);
            servers.clear();
            linkedNanos = nanoTime.getAsLong();
            lookedNanos.set(linkedNanos);
            passOn();
            drop(old);
            LOG.debug("replaced a connection that was down, did not answer any more, or led to a replica");
            if (closed) {
                close(link);
            }
        } catch (RuntimeException | Error e) { // without memory as well: the next failure tries again
            LOG.debug("the connection is of no use any more, and no new one is possible", e);
            refused(e);
            awaiting.clear();
        } finally {
            connecting.set(false);
        }
    }

    private void refused(@Nullable Throwable failure) {
        down = false;
        boolean forGood = failure != null && RedisFailures.isRefusal(failure);
        refusal = forGood ? failure : null;
        factory.refused(forGood);
        long pause = failure == null ? 0 : Math.min(MAX_PAUSE_NANOS, Math.max(DOWN_NANOS, 2 * pauseNanos));
        pauseNanos = pause == 0 ? 0 : pause - ThreadLocalRandom.current().nextLong(pause / 4);
        triedNanos = nanoTime.getAsLong();
    }

    /** Replies of a cluster's other servers may still arrive. */
    private void drop(ConnectionFactory.Link old) {
        if (old.connection() == null) {
            return;
        }
        if (factory.cluster()) {
            CompletableFuture.delayedExecutor(LAST_REPLIES_MILLIS, TimeUnit.MILLISECONDS)
                    .execute(old.connection()::closeAsync);
        } else {
            old.connection().closeAsync();
        }
    }

    void close() {
        closed = true;
        close(link);
    }

    private void close(ConnectionFactory.Link last) {
        if (last.connection() != null) {
            factory.close(last.connection());
        }
    }

    /** How long a server has not answered. Thread-safe. */
    private final class Silence {
        private final AtomicInteger unanswered = new AtomicInteger();
        private volatile long answeredNanos = nanoTime.getAsLong();

        void end() {
            if (unanswered.get() != 0) {
                unanswered.set(0);
            }
            answeredNanos = nanoTime.getAsLong();
        }

        boolean isDeath() {
            return unanswered.incrementAndGet() >= DEAD_AFTER
                    && nanoTime.getAsLong() - answeredNanos > DEAD_AFTER_NANOS;
        }
    }
}
