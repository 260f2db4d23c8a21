package dev.holdfast.lock.consul.internal.acquisition;

import dev.holdfast.lock.consul.internal.http.Deadline;
import dev.holdfast.lock.consul.internal.session.SessionPool;
import dev.holdfast.lock.consul.internal.session.Transaction;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * Looks whether keys exist, for all that ask within half a second: one request for up to 64 keys, and one request after
 * the other. So names beyond the limit of blocking queries need one connection, however many there are. Thread-safe;
 * never blocks.
 */
final class KeyLooks {
    private static final long PAUSE_MILLIS = 500;
    private static final long LOOK_MILLIS = 5_000;

    private final Function<Transaction, CompletableFuture<Transaction.Outcome>> request;
    private final Executor afterAPause;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, CompletableFuture<Boolean>> asked = new LinkedHashMap<>();
    private boolean running;

    KeyLooks(SessionPool sessions) {
        this(
                transaction -> sessions.transact(transaction, true, Deadline.in(LOOK_MILLIS)),
                CompletableFuture.delayedExecutor(PAUSE_MILLIS, TimeUnit.MILLISECONDS, Runnable::run));
    }

    /** With a given way to send requests and to wait, for tests. */
    KeyLooks(Function<Transaction, CompletableFuture<Transaction.Outcome>> request, Executor afterAPause) {
        this.request = request;
        this.afterAPause = afterAPause;
    }

    /** Returns whether a key is absent, after half a second or more. */
    CompletableFuture<Boolean> isAbsent(String key) {
        CompletableFuture<Boolean> look;
        boolean start;
        lock.lock();
        try {
            look = asked.computeIfAbsent(key, unused -> new CompletableFuture<>());
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
        try {
            afterAPause.execute(this::round);
        } catch (Throwable e) { // no memory, or no thread: those that have asked ask again, which starts a round
            notRunning();
            fail(takeAsked(), e);
        }
    }

    private void notRunning() {
        lock.lock();
        try {
            running = false;
        } finally {
            lock.unlock();
        }
    }

    private static void fail(List<Map.Entry<String, CompletableFuture<Boolean>>> looks, Throwable failure) {
        for (Map.Entry<String, CompletableFuture<Boolean>> look : looks) {
            look.getValue().completeExceptionally(failure);
        }
    }

    /** Looks for all that have asked until now. */
    private void round() {
        List<Map.Entry<String, CompletableFuture<Boolean>>> looks = List.of();
        try {
            looks = takeAsked();
        } catch (Throwable ignored) {
            // No memory: the next round takes them.
        }
        send(looks);
    }

    private List<Map.Entry<String, CompletableFuture<Boolean>>> takeAsked() {
        lock.lock();
        try {
            List<Map.Entry<String, CompletableFuture<Boolean>>> taken = List.copyOf(asked.entrySet());
            asked.clear();
            return taken;
        } finally {
            lock.unlock();
        }
    }

    private void send(List<Map.Entry<String, CompletableFuture<Boolean>>> looks) {
        if (looks.isEmpty()) {
            endRound();
            return;
        }
        try {
            sendFirst(looks);
        } catch (Throwable e) { // no memory: these fail, and the next round is made nevertheless
            try {
                fail(looks, e);
            } finally {
                endRound();
            }
        }
    }

    private void sendFirst(List<Map.Entry<String, CompletableFuture<Boolean>>> looks) {
        int size = Math.min(looks.size(), Transaction.MAX_OPERATIONS);
        List<Map.Entry<String, CompletableFuture<Boolean>>> rest = looks.subList(size, looks.size());
        Transaction transaction = new Transaction();
        looks.subList(0, size).forEach(look -> transaction.checkAbsent(look.getKey()));
        FailureTranslator.guard(() -> request.apply(transaction)).whenComplete((outcome, failure) -> {
            send(rest);
            for (int i = 0; i < size; i++) {
                CompletableFuture<Boolean> look = looks.get(i).getValue();
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
