package dev.holdfast.lock.zookeeper.internal.session;

import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.ClientThreads;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.imps.CuratorFrameworkState;

/**
 * Replaces a handle of ZooKeeper's client whose threads have ended, as after an {@link OutOfMemoryError}. The client does
 * not start them again, and neither it nor Curator notices. The session is given up: its locks are lost at once, and the
 * servers end it when the old handle closes, or by its time-out.
 *
 * <p>Thread-safe.
 */
final class HandleReplacement {
    static final String WHY = "a thread of ZooKeeper's client has ended, as after an OutOfMemoryError";

    private static final BackgroundLog LOG = BackgroundLog.of(HandleReplacement.class);
    /** How long a handle may take to close; one without its sending thread waits for ever. */
    private static final long CLOSE_MILLIS = 1_000;

    private final CuratorFramework client;
    private final Consumer<Session> end;
    private final AtomicBoolean running = new AtomicBoolean();

    /**
     * Creates it.
     *
     * @param end ends a session and reports that
     */
    HandleReplacement(CuratorFramework client, Consumer<Session> end) {
        this.client = client;
        this.end = end;
    }

    /** Begins to replace the handle of a session, unless that is under way. */
    void begin(Session session) {
        if (running.compareAndSet(false, true)) {
            try {
                ClientThreads.daemon("holdfast-zookeeper-replace", () -> replace(session))
                        .start();
            } catch (OutOfMemoryError noThread) { // the next request tries again
                running.set(false);
            }
        }
    }

    private void replace(Session session) {
        try {
            LOG.warn(
                    "a thread of ZooKeeper's client has ended, as after an OutOfMemoryError; the connection is replaced, and"
                            + " the locks of its session are lost");
            try {
                end.accept(session);
            } finally {
                session.failAll();
            }
            while (isCurrent(session)) {
                reset();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            running.set(false);
        }
    }

    private boolean isCurrent(Session session) {
        try {
            return client.getState() == CuratorFrameworkState.STARTED
                    && client.getZookeeperClient().getZooKeeper() == session.handle();
        } catch (Exception e) { // a failure of an earlier operation, which Curator reports here
            return true;
        }
    }

    /** On a thread of its own, which an interrupt keeps from waiting for the old handle. */
    private void reset() throws InterruptedException {
        Thread resetting = ClientThreads.daemon("holdfast-zookeeper-reset", () -> {
            try {
                client.getZookeeperClient().reset();
            } catch (Exception e) {
                LOG.debug("the connection to ZooKeeper could not be replaced; trying again", e);
            }
        });
        resetting.start();
        resetting.join(CLOSE_MILLIS);
        while (resetting.isAlive()) {
            resetting.interrupt();
            resetting.join(TimeUnit.SECONDS.toMillis(1));
        }
    }
}
