package dev.holdfast.lock.recipe;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.MultiLease;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The leases of one multi-lock. */
final class LeasesInOrder implements MultiLease {
    private final List<String> names;
    private final List<Lease> leases;
    private final Consumer<List<Lease>> closer;
    private final CompletableFuture<Loss> lost = new CompletableFuture<>();
    private final CompletionStage<Loss> lostView = lost.minimalCompletionStage();

    LeasesInOrder(List<String> names, List<Lease> leases, Consumer<List<Lease>> closer) {
        this.names = names;
        this.leases = List.copyOf(leases);
        this.closer = closer;
        CompletableFuture<Loss> first = lost;
        for (Lease lease : leases) {
            String name = lease.name(); // the stage must not keep a lease that was dropped
            lease.lost().thenAccept(reason -> first.complete(new Loss(name, reason)));
        }
    }

    @Override
    public List<String> names() {
        return names;
    }

    @Override
    public long token(String name) {
        int index = names.indexOf(name);
        if (index < 0) {
            throw new IllegalArgumentException("lock '" + name + "' is not among " + names);
        }
        return leases.get(index).token();
    }

    @Override
    public boolean isValid() {
        return leases.stream().allMatch(Lease::isValid);
    }

    @Override
    public Duration remaining() {
        return leases.stream().map(Lease::remaining).min(Duration::compareTo).orElse(Duration.ZERO);
    }

    @Override
    public void ensure(Duration validity) {
        leases.forEach(lease -> lease.ensure(validity));
        if (remaining().compareTo(validity) < 0) { // the first lease has aged while the last was renewed
            leases.forEach(lease -> lease.ensure(validity));
        }
    }

    @Override
    public CompletionStage<Loss> lost() {
        return lostView;
    }

    @Override
    public void close() {
        closer.accept(leases);
    }

    /** Closes leases one after the other, the last one first; each of them, whatever another one throws. */
    static void closeInTurn(List<Lease> leases) {
        Throwable failure = null;
        for (int i = leases.size() - 1; i >= 0; i--) {
            failure = close(leases.get(i), failure);
        }
        if (failure instanceof Error error) {
            throw error;
        }
        if (failure instanceof RuntimeException exception) {
            throw exception;
        }
    }

    private static @Nullable Throwable close(Lease lease, @Nullable Throwable before) {
        try {
            lease.close();
            return before;
        } catch (RuntimeException | Error e) {
            if (before == null || before == e) { // the JVM may throw one OutOfMemoryError twice
                return e;
            }
            before.addSuppressed(e);
            return before;
        }
    }

    @Override
    public String toString() {
        return "MultiLease" + leases;
    }
}
