package dev.holdfast.lock.zookeeper.internal.session;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.KeeperException;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a session without an answer. ZooKeeper's client answers each of them, if need be with a failure: it
 * gives up a silent connection after two thirds of the session time-out. Two threads do that, and are not started again
 * if they end. Thread-safe.
 */
final class Unanswered {
    private static final String EVENT_THREAD = "-EventThread";
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Set<Request<?>> requests = ConcurrentHashMap.newKeySet();
    /** The client's thread that answers. */
    private volatile @Nullable Thread answering;

    private volatile boolean failed;
    private volatile long lookedNanos = System.nanoTime();

    private static final class Request<T> extends CompletableFuture<T> {
        final long sentNanos = System.nanoTime();
    }

    /** Returns a future for the answer to a request that is sent now. */
    <T> CompletableFuture<T> begin() {
        Request<T> request = new Request<>();
        requests.add(request);
        CompletableFuture<T> unused = request.whenComplete((value, failure) -> {
            requests.remove(request);
            answeredBy(Thread.currentThread());
        });
        if (failed) { // its sender looked at the session just before
            request.completeExceptionally(new KeeperException.SessionExpiredException());
        }
        return request;
    }

    private void answeredBy(Thread thread) {
        if (thread != answering && thread.getName().endsWith(EVENT_THREAD)) {
            answering = thread;
        }
    }

    /**
     * Whether the thread that answers has ended, or a request has waited longer than the client lets it wait.
     *
     * @param limitMillis that time, in milliseconds; 0 if it is not known yet
     */
    boolean isDeaf(long limitMillis) {
        Thread thread = answering;
        if (thread != null && !thread.isAlive()) {
            return true;
        }
        long nowNanos = System.nanoTime();
        if (limitMillis == 0 || nowNanos - lookedNanos < LOOK_NANOS) {
            return false;
        }
        lookedNanos = nowNanos;
        long limitNanos = TimeUnit.MILLISECONDS.toNanos(limitMillis);
        return requests.stream().anyMatch(request -> nowNanos - request.sentNanos >= limitNanos);
    }

    /** Fails all requests, also those to come. */
    void failAll() {
        failed = true;
        KeeperException ended = new KeeperException.SessionExpiredException();
        requests.forEach(request -> {
            try {
                request.completeExceptionally(ended);
            } catch (OutOfMemoryError e) {
                // Those who wait for this answer give it up; the others have theirs.
            }
        });
    }
}
