package dev.holdfast.lock.memory;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
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

/** A connection to the memory store that can pause, be cut off, and lose its subscriptions. */
final class SwitchedBackend extends ForwardingBackend {
    private final MemorySwitch gate;

    SwitchedBackend(LockBackend delegate, MemorySwitch gate) {
        super(delegate);
        this.gate = gate;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        return through(() -> super.tryAcquire(request));
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        int epoch = gate.epoch();
        return super.subscribe(ticket, () -> {
            if (gate.isOpen() && gate.epoch() == epoch) {
                onMaybeFree.run();
            }
        });
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
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

    @Override
    public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        return through(() -> super.holders(name, timeoutMillis));
    }

    @Override
    public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
        return through(() -> super.changeLimit(name, from, to, timeoutMillis));
    }

    private <T> CompletionStage<T> through(Supplier<CompletionStage<T>> request) {
        if (gate.isCut()) {
            return CompletableFuture.failedStage(
                    new LockUnavailableException("the memory store cannot be reached; heal the partition"));
        }
        return gate.whenOpen().thenCompose(open -> request.get());
    }
}
