package dev.holdfast.lock.testkit.memory;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Attempt;
import dev.holdfast.lock.spi.AttemptRequest;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.fault.ForwardingBackend;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/** A connection to the memory store that can stand still, be cut off, and lose its subscriptions. */
final class SwitchedBackend extends ForwardingBackend {
    private final MemorySwitch gate;

    SwitchedBackend(LockBackend delegate, MemorySwitch gate) {
        super(delegate);
        this.gate = gate;
    }

    @Override
    public CompletionStage<Attempt> attempt(AttemptRequest request) {
        return through(() -> super.attempt(request));
    }

    @Override
    public Subscription signal(Ticket ticket, Runnable maybeFree) {
        int epoch = gate.epoch();
        return super.signal(ticket, () -> {
            if (gate.isOpen() && gate.epoch() == epoch) {
                maybeFree.run();
            }
        });
    }

    @Override
    public CompletionStage<Void> abandon(Acquisition acquisition, long timeoutMillis) {
        return through(() -> super.abandon(acquisition, timeoutMillis));
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return through(() -> super.renew(grants, timeoutMillis));
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        return through(() -> super.release(grant, timeoutMillis));
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return through(() -> super.holder(name, timeoutMillis));
    }

    private <T> CompletionStage<T> through(Supplier<CompletionStage<T>> request) {
        if (gate.isCut()) {
            return CompletableFuture.failedStage(
                    new LockUnavailableException("the memory store cannot be reached; heal the partition"));
        }
        return gate.whenOpen().thenCompose(open -> request.get());
    }
}
