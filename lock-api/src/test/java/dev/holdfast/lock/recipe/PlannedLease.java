package dev.holdfast.lock.recipe;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/** A lease of a minute whose state the test sets. Thread-safe. */
final class PlannedLease implements Lease {
    private final String name;
    final CompletableFuture<LossReason> lost = new CompletableFuture<>();
    /** The arguments of {@code ensure}, in order. */
    final List<Duration> ensured = new CopyOnWriteArrayList<>();
    /** The times of {@code close}, by the monotonic clock, in order. */
    final List<Long> closedAt = new CopyOnWriteArrayList<>();

    volatile Duration remaining = Duration.ofMinutes(1);
    volatile boolean valid = true;
    /** Runs during {@code ensure}, {@code close} and {@code remaining}. */
    volatile Consumer<PlannedLease> whileEnsured = lease -> {};

    volatile Consumer<PlannedLease> whileLooked = lease -> {};

    volatile Consumer<PlannedLease> whileClosed = lease -> {};

    PlannedLease(String name) {
        this.name = name;
    }

    /** Ends the lease without reporting a loss. */
    void end() {
        valid = false;
        remaining = Duration.ZERO;
    }

    boolean isClosed() {
        return !closedAt.isEmpty();
    }

    private void requireValid() {
        if (!valid) {
            throw new LeaseLostException("lock '" + name + "': lost", LossReason.EXPIRED, token(), null);
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public long token() {
        return 7;
    }

    @Override
    public boolean isValid() {
        return valid && !isClosed();
    }

    @Override
    public Duration remaining() {
        whileLooked.accept(this);
        return isValid() ? remaining : Duration.ZERO;
    }

    @Override
    public void ensure(Duration validity) {
        ensured.add(validity);
        whileEnsured.accept(this);
        requireValid();
    }

    @Override
    public CompletionStage<LossReason> lost() {
        return lost;
    }

    @Override
    public void close() {
        closedAt.add(System.nanoTime());
        whileClosed.accept(this);
        requireValid();
    }
}
