package dev.holdfast.lock.redis;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the link of the moment, and replaces it by a new connection when it has gone silent or leads to a server that has
 * become a replica: Sentinel, or a name, leads the new one to the master. However many commands notice, a link is
 * replaced once, and a new link gets {@value #PAUSE_MILLIS} ms before it may be found wrong in its turn. A cluster's
 * connection stays and asks who has which slot, as seldom.
 *
 * <p>The user's own connection is never replaced. Thread-safe.
 */
final class LinkKeeper {
    private static final Logger LOG = LoggerFactory.getLogger(LinkKeeper.class);
    private static final int DEAD_AFTER = 3;
    private static final long DEAD_AFTER_NANOS = 2_000_000_000L;
    private static final long PAUSE_MILLIS = 100;
    private static final long PAUSE_NANOS = PAUSE_MILLIS * 1_000_000;

    private final RedisSource source;
    private final AtomicInteger silent = new AtomicInteger();
    private final AtomicBoolean connecting = new AtomicBoolean();
    private final AtomicLong lookedNanos = new AtomicLong(System.nanoTime() - PAUSE_NANOS);
    private volatile RedisSource.Link link;
    private volatile long answeredNanos = System.nanoTime();
    private volatile boolean closed;

    /** Connects; blocks, fails with the client's own exceptions. */
    LinkKeeper(RedisSource source) {
        this.source = source;
        this.link = source.connect();
    }

    RedisSource.Link link() {
        return link;
    }

    /** The server has answered, be it with an error. */
    void answered() {
        silent.set(0);
        answeredNanos = System.nanoTime();
    }

    /**
     * A command has timed out. A connection that only times out may be dead without anybody having been told, when a
     * router has dropped it; the operating system would notice after a quarter of an hour.
     */
    void unanswered() {
        if (silent.incrementAndGet() >= DEAD_AFTER && System.nanoTime() - answeredNanos > DEAD_AFTER_NANOS) {
            replace(link);
        }
    }

    /** The server at the end of this link does not have the key, or is a replica. */
    void wrongServer(RedisSource.Link used) {
        long now = System.nanoTime();
        long looked = lookedNanos.get();
        if (used != link || now - looked < PAUSE_NANOS || !lookedNanos.compareAndSet(looked, now)) {
            return;
        }
        if (source.cluster()) {
            used.wrongServer().run();
        } else {
            replace(used);
        }
    }

    private void replace(RedisSource.Link old) {
        if (closed || source.cluster() || !source.connects() || !connecting.compareAndSet(false, true)) {
            return;
        }
        if (link != old) {
            connecting.set(false);
            return;
        }
        Thread thread = new Thread(() -> connectAnew(old), "holdfast-redis-connect");
        thread.setDaemon(true);
        thread.start();
    }

    private void connectAnew(RedisSource.Link old) {
        try {
            link = source.connect();
            answered();
            lookedNanos.set(System.nanoTime());
            if (old.connection() != null) {
                old.connection().closeAsync();
            }
            LOG.debug("replaced a connection that did not answer any more, or led to a replica");
            if (closed) {
                close(link);
            }
        } catch (RuntimeException e) {
            LOG.debug("the connection is of no use any more, and no new one is possible", e);
        } finally {
            connecting.set(false);
        }
    }

    void close() {
        closed = true;
        close(link);
    }

    private void close(RedisSource.Link last) {
        if (last.connection() != null) {
            source.close(last.connection());
        }
    }
}
