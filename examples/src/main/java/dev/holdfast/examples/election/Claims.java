package dev.holdfast.examples.election;

import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What the candidates of one run have said so far. Thread-safe. */
final class Claims {

    /** Distinguishes two candidates that claim the same token. */
    private record Key(int candidate, long token) {}

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Consumer<Term> onElected;
    private final Map<Key, Term> terms = new LinkedHashMap<>();
    private final Map<Integer, Long> stoodFrom = new HashMap<>();
    private int ready;
    private int refused;
    private int lateWrites;
    private long highestWritten;
    private long thinking;
    private long late;
    private @Nullable String error;

    /**
     * Begins with nothing.
     *
     * @param onElected called with the first claim of each term, one call at a time
     */
    Claims(Consumer<Term> onElected) {
        this.onElected = onElected;
    }

    void onOutput(int candidate, String line) {
        String[] words = line.split(" ", 3);
        lock.lock();
        try {
            switch (words[0]) {
                case "ready" -> ready++;
                case "stands" -> stoodFrom.put(candidate, Long.parseLong(words[1]));
                case "leads" -> leads(candidate, Long.parseLong(words[1]), Long.parseLong(words[2]));
                case "wrote" -> wrote(Long.parseLong(words[1]));
                case "refused" -> refused++;
                case "thinks" -> thinking = Long.parseLong(words[1]);
                case "revoked", "done" -> {
                    // What counts is the last claim.
                }
                default -> error = line;
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void leads(int candidate, long token, long micros) {
        Key key = new Key(candidate, token);
        Term before = terms.get(key);
        if (before == null) {
            Term began = new Term(candidate, token, micros, micros, 1);
            terms.put(key, began);
            onElected.accept(began);
        } else {
            terms.put(key, before.claimed(micros));
        }
    }

    private void wrote(long token) {
        highestWritten = Math.max(highestWritten, token);
        if (token == late) {
            lateWrites++;
        }
    }

    /** From here on, a write with this token is a late one: a later leader has written. */
    void lateFromNow(long token) {
        lock.lock();
        try {
            late = token;
        } finally {
            lock.unlock();
        }
    }

    /** Waits until a condition on these claims holds, at most for the given time. */
    boolean await(long nanos, BooleanSupplier condition) throws InterruptedException {
        long endNanos = System.nanoTime() + nanos;
        lock.lockInterruptibly();
        try {
            long left = nanos;
            while (!condition.getAsBoolean() && left > 0) {
                changed.awaitNanos(Math.min(left, TimeUnit.SECONDS.toNanos(1)));
                left = endNanos - System.nanoTime();
            }
            return condition.getAsBoolean();
        } finally {
            lock.unlock();
        }
    }

    /** The term with the highest token; whether it still lasts is not known. */
    Optional<Term> latest() {
        return read(() -> terms.values().stream().max(Comparator.comparingLong(Term::token)));
    }

    List<Term> terms() {
        return read(() -> List.copyOf(terms.values()));
    }

    /** When a candidate began to stand. */
    Optional<Long> stoodFrom(int candidate) {
        return read(() -> Optional.ofNullable(stoodFrom.get(candidate)));
    }

    int ready() {
        return read(() -> ready);
    }

    int refused() {
        return read(() -> refused);
    }

    /** Late writes that were let through. */
    int lateWrites() {
        return read(() -> lateWrites);
    }

    long highestWritten() {
        return read(() -> highestWritten);
    }

    /** The token of the last leader that paused in the middle of a write; 0 if none has. */
    long thinking() {
        return read(() -> thinking);
    }

    Optional<String> error() {
        return read(() -> Optional.ofNullable(error));
    }

    private <T> T read(Supplier<T> value) {
        lock.lock();
        try {
            return value.get();
        } finally {
            lock.unlock();
        }
    }
}
