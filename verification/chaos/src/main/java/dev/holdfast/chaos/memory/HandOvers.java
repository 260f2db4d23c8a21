package dev.holdfast.chaos.memory;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Makes the waiters of one connection holders when it is their turn, for a short lease, as Redis does (docs/decisions/0028), and
 * notifies them. One message of four is almost a second late, as one over another connection may be. Thread-safe.
 */
final class HandOvers {
    private static final int LATE_MILLIS = 700;
    private static final int LATEST_MILLIS = 1_000;
    private static final int ONE_OF = 4;

    /** Of the whole server: a signal comes within the request of another connection, whose lock is taken then. */
    private static final ScheduledExecutorService LATER = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "chaos-memory-hand-over");
        thread.setDaemon(true);
        return thread;
    });

    /** Sends a message. */
    interface Messages {
        void handed(OwnerId owner, long round, Grant grant);
    }

    private record Asked(long round, AcquireRequest request) {}

    private final LockBackend backend;
    private final long leaseMillis;
    private final Consumer<OwnerId> calls;
    private final Messages messages;
    private final Map<OwnerId, Asked> latest = new ConcurrentHashMap<>();

    /** What an attempt and a hand-over of one owner do is not mixed. */
    private final ReentrantLock lock = new ReentrantLock();

    HandOvers(LockBackend backend, long leaseMillis, Consumer<OwnerId> calls, Messages messages) {
        this.backend = backend;
        this.leaseMillis = leaseMillis;
        this.calls = calls;
        this.messages = messages;
    }

    /** The backend answers at once. Round 0: the owner takes nothing over. */
    CompletionStage<AcquireResult> tryAcquire(AcquireRequest request, long round) {
        OwnerId owner = request.acquisition().owner();
        lock.lock();
        try {
            CompletableFuture<AcquireResult> answer =
                    backend.tryAcquire(request).toCompletableFuture();
            if (round > 0 && answer.getNow(null) instanceof AcquireResult.Busy busy && busy.ticket() != null) {
                latest.put(owner, new Asked(round, request));
            } else {
                latest.remove(owner);
            }
            return answer;
        } finally {
            lock.unlock();
        }
    }

    void signal(OwnerId owner) {
        LATER.execute(() -> handOver(owner));
    }

    private void handOver(OwnerId owner) {
        Asked asked;
        AcquireResult result = null;
        lock.lock();
        try {
            asked = latest.remove(owner);
            if (asked != null) {
                result = backend.tryAcquire(shortened(asked.request()))
                        .toCompletableFuture()
                        .getNow(null);
            }
        } finally {
            lock.unlock();
        }
        if (asked != null && result instanceof AcquireResult.Granted granted) {
            Grant grant = granted.grant();
            Grant told = new Grant(
                    grant.acquisition(),
                    grant.token(),
                    Math.min(leaseMillis, asked.request().leaseMillis()),
                    null);
            ThreadLocalRandom random = ThreadLocalRandom.current();
            int delay = random.nextInt(ONE_OF) == 0 ? random.nextInt(LATE_MILLIS, LATEST_MILLIS) : 0;
            long round = asked.round();
            LATER.schedule(() -> messages.handed(owner, round, told), delay, TimeUnit.MILLISECONDS);
        } else {
            calls.accept(owner);
        }
    }

    /** Without a wait: a waiter whose place has lapsed, perhaps as it died, is not to get another, where it would be in the way. */
    private AcquireRequest shortened(AcquireRequest request) {
        return new AcquireRequest(
                request.acquisition(),
                Math.min(leaseMillis, request.leaseMillis()),
                0,
                request.fair(),
                request.ticket(),
                request.timeoutMillis(),
                request.identity());
    }
}
