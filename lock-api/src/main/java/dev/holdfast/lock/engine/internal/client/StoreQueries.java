package dev.holdfast.lock.engine.internal.client;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.engine.internal.hold.HeldGrant;
import dev.holdfast.lock.engine.internal.queue.EngineContext;
import dev.holdfast.lock.engine.internal.queue.LockEntryRegistry;
import dev.holdfast.lock.engine.internal.runtime.Durations;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongFunction;

/** The queries of operators to a store about its locks. Stateless; thread-safe. */
final class StoreQueries {
    /** One more than a backend may take for a listing, so that the backend ends it. */
    private static final int LISTING_TIMEOUTS = LockBackend.MAX_LISTING_TIMEOUTS + 1;

    private final EngineContext engine;
    private final BlockingCalls calls;
    private final LockEntryRegistry entries;

    StoreQueries(EngineContext engine, BlockingCalls calls, LockEntryRegistry entries) {
        this.engine = engine;
        this.calls = calls;
        this.entries = entries;
    }

    LockListing list(BackendInfo info, String prefix, int limit) {
        String asked = prefix + "*";
        entries.requireOpen(asked);
        if (!info.listing()) {
            throw new LockConfigurationException(info.name()
                    + " keeps locks in a way that cannot be listed; ask for the holder of one lock by its name");
        }
        LockListing page = answer(
                asked, LISTING_TIMEOUTS, timeoutMillis -> engine.backend().list(prefix, limit, timeoutMillis));
        return new LockListing(
                page.locks().stream().map(StoreQueries::withPublicToken).toList(), page.more());
    }

    List<StoreFinding> examine() {
        entries.requireOpen("*");
        return answer("*", timeoutMillis -> engine.backend().examine(timeoutMillis));
    }

    Optional<HolderInfo> holder(String name) {
        requireOpen(name);
        return answer(name, timeoutMillis -> engine.backend().holder(name, timeoutMillis))
                .map(StoreQueries::withPublicToken);
    }

    List<HolderInfo> holders(String name) {
        requireOpen(name);
        return answer(name, timeoutMillis -> engine.backend().holders(name, timeoutMillis)).stream()
                .map(StoreQueries::withPublicToken)
                .toList();
    }

    /** Changes the limit of a name's permits; returns the limit that the store has afterwards. */
    int changeLimit(String name, int from, int to) {
        requireOpen(name);
        return answer(name, timeoutMillis -> engine.backend().changeLimit(name, from, to, timeoutMillis));
    }

    private void requireOpen(String name) {
        LockName.requireValid(name);
        entries.requireOpen(name);
    }

    private <T> T answer(String asked, LongFunction<CompletionStage<T>> question) {
        return answer(asked, 1, question);
    }

    /** Asks a question whose answer may take several requests one after the other. */
    private <T> T answer(String asked, int requests, LongFunction<CompletionStage<T>> question) {
        long timeoutNanos = engine.requestTimeoutNanos();
        CompletableFuture<T> answer = FailureTranslator.guard(() -> question.apply(Durations.ceilMillis(timeoutNanos)));
        if (!calls.await(answer, requests * timeoutNanos)) {
            throw Failures.stalled(asked, requests * timeoutNanos);
        }
        try {
            return answer.join();
        } catch (RuntimeException e) {
            throw Failures.of(asked, e);
        }
    }

    private static ListedLock withPublicToken(ListedLock lock) {
        return new ListedLock(
                lock.name(),
                lock.holders().stream().map(StoreQueries::withPublicToken).toList(),
                lock.waiters());
    }

    /** Replaces the store's token with the one that the lease reports before any hand-off. */
    private static HolderInfo withPublicToken(HolderInfo holder) {
        return new HolderInfo(
                holder.who(),
                holder.host(),
                holder.pid(),
                holder.since(),
                holder.token() * HeldGrant.TOKENS_PER_GRANT,
                holder.demand(),
                holder.slot());
    }
}
