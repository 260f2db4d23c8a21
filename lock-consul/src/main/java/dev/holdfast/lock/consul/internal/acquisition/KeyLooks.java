package dev.holdfast.lock.consul.internal.acquisition;

import dev.holdfast.lock.consul.internal.http.Deadline;
import dev.holdfast.lock.consul.internal.session.SessionPool;
import dev.holdfast.lock.consul.internal.session.Transaction;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Looks whether keys exist, for all that ask within half a second: one request for up to 64 keys, and one request after
 * the other. So names beyond the limit of blocking queries need one connection, however many there are. Thread-safe;
 * never blocks.
 */
final class KeyLooks {
    private static final long PAUSE_MILLIS = 500;
    private static final long LOOK_MILLIS = 5_000;

    private final SessionPool sessions;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, CompletableFuture<Boolean>> asked = new LinkedHashMap<>();
    private boolean running;

    KeyLooks(SessionPool sessions) {
        this.sessions = sessions;
    }

    /** Returns whether a key is absent, after half a second or more. */
    CompletableFuture<Boolean> isAbsent(String key) {
        CompletableFuture<Boolean> look = new CompletableFuture<>();
        boolean start;
        lock.lock();
        try {
            CompletableFuture<Boolean> known = asked.putIfAbsent(key, look);
            if (known != null) {
                return known.copy();
            }
            start = !running;
            running = true;
        } finally {
            lock.unlock();
        }
        if (start) {
            later();
        }
        return look.copy();
    }

    private void later() {
        CompletableFuture.delayedExecutor(PAUSE_MILLIS, TimeUnit.MILLISECONDS, Runnable::run)
                .execute(this::round);
    }

    /** Looks for all that have asked until now. */
    private void round() {
        Map<String, CompletableFuture<Boolean>> looks;
        lock.lock();
        try {
            looks = new LinkedHashMap<>(asked);
            asked.clear();
        } finally {
            lock.unlock();
        }
        send(List.copyOf(looks.keySet()), looks);
    }

    private void send(List<String> keys, Map<String, CompletableFuture<Boolean>> looks) {
        if (keys.isEmpty()) {
            endRound();
            return;
        }
        int size = Math.min(keys.size(), Transaction.MAX_OPERATIONS);
        Transaction transaction = new Transaction();
        keys.subList(0, size).forEach(transaction::checkAbsent);
        FailureTranslator.guard(() -> sessions.transact(transaction, true, Deadline.in(LOOK_MILLIS)))
                .whenComplete((outcome, failure) -> {
                    send(keys.subList(size, keys.size()), looks);
                    for (int i = 0; i < size; i++) {
                        CompletableFuture<Boolean> look = Objects.requireNonNull(looks.get(keys.get(i)));
                        if (failure == null) {
                            look.complete(!outcome.refusals().containsKey(i));
                        } else {
                            look.completeExceptionally(FailureTranslator.unwrap(failure));
                        }
                    }
                });
    }

    private void endRound() {
        boolean more;
        lock.lock();
        try {
            more = !asked.isEmpty();
            running = more;
        } finally {
            lock.unlock();
        }
        if (more) {
            later();
        }
    }
}
