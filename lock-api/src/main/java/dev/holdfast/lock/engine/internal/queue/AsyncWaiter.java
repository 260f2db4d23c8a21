package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.runtime.Durations;
import dev.holdfast.lock.spi.Subscription;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A caller that waits with a future. The future completes on a callback thread, never on a thread that locks or releases. */
public final class AsyncWaiter extends Waiter {
    public final CompletableFuture<Lease> future = new CompletableFuture<>();
    private final String name;
    private final Executor callbacks;
    private final Function<Hold, Lease> leases;
    private volatile Subscription timeout = Subscription.NONE;

    public AsyncWaiter(
            String name,
            LockOptions options,
            long timeoutNanos,
            long sinceNanos,
            Executor callbacks,
            Function<Hold, Lease> leases) {
        super(options, true, timeoutNanos, sinceNanos);
        this.name = name;
        this.callbacks = callbacks;
        this.leases = leases;
    }

    @Override
    public @Nullable Thread thread() {
        return null;
    }

    /** Sets the timer that ends the wait; it is closed when the wait ends. */
    public void timeout(Subscription subscription) {
        timeout = subscription;
        if (state != State.WAITING) {
            subscription.close();
        }
    }

    @Override
    public void wakeUp() {
        if (state == State.WAITING) {
            return;
        }
        try {
            timeout.close();
            callbacks.execute(this::complete);
        } catch (Error e) {
            takeBack();
            throw e;
        }
    }

    private void complete() {
        try {
            completeByState();
        } catch (Error noMemory) {
            takeBack();
            future.completeExceptionally(noMemory);
        }
    }

    private void completeByState() {
        switch (state) {
            case GRANTED -> {
                Hold granted = Objects.requireNonNull(hold);
                granted.heldGrant.listener.expireIfDue(granted.heldGrant);
                if (granted.state == Hold.State.LOST) {
                    future.completeExceptionally(granted.lostException());
                    return;
                }
                Lease lease = leases.apply(granted);
                if (!future.complete(lease)) {
                    lease.close();
                }
            }
            case BUSY -> future.completeExceptionally(timedOut(name, timeoutNanos));
            case FAILED -> future.completeExceptionally(Objects.requireNonNull(failure));
            default -> future.cancel(false);
        }
    }

    public static LockTimeoutException timedOut(String name, long timeoutNanos) {
        return new LockTimeoutException("lock '" + name + "': not acquired within "
                + Durations.text(Math.max(0, timeoutNanos)) + ", another owner holds it; wait longer, or see holder()");
    }
}
