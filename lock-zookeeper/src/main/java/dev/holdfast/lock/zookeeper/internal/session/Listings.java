package dev.holdfast.lock.zookeeper.internal.session;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * Lists the children of lock nodes, and refuses a node whose listing breaks the connection.
 *
 * <p>A reply above the client's packet limit ({@code jute.maxbuffer}, 1 MB by default) makes ZooKeeper's client drop
 * the connection. One name with too many acquisitions, or with planted nodes that have long names, would interrupt all
 * locks of the session with every listing.
 *
 * <p>A single lost connection proves nothing. So a lost listing is repeated alone: one such listing of the session at a
 * time, after another request was answered. If the connection breaks {@value #PROOFS} times in a row at that point, the
 * listing is the cause. The name is then refused for a minute before the next try. A name whose last listing was
 * answered costs no additional request.
 *
 * <p>Thread-safe.
 */
final class Listings {

    static final int PROOFS = 3;
    private static final long REFUSED_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int MAX_LOSSES = 1_000;
    /** A listing without an end for that long was lost, as without memory, and the next one does not wait for it. */
    private static final long LOST_SECONDS = 60;

    /** How many times in a row a listing has provably broken the connection, and the time of the last one. */
    private record Loss(int proofs, long nanos) {}

    private final Function<String, CompletableFuture<List<String>>> request;
    private final Function<String, CompletableFuture<?>> proof;
    private final LongSupplier nanos;
    private final Map<String, Loss> losses = new ConcurrentHashMap<>();
    private final AtomicReference<CompletableFuture<?>> last =
            new AtomicReference<>(CompletableFuture.completedFuture(null));

    /**
     * Creates it.
     *
     * @param request sends a listing
     * @param proof sends a small request about the same node; may fail because the node does not exist
     * @param nanos the clock
     */
    Listings(
            Function<String, CompletableFuture<List<String>>> request,
            Function<String, CompletableFuture<?>> proof,
            LongSupplier nanos) {
        this.request = request;
        this.proof = proof;
        this.nanos = nanos;
    }

    CompletableFuture<List<String>> children(String path) {
        if (losses.get(path) == null) {
            return counted(path, 0);
        }
        CompletableFuture<List<String>> mine = new CompletableFuture<>();
        CompletableFuture<?> before = last.getAndSet(mine);
        StageHelpers.listen(
                before.handle((value, failure) -> null).completeOnTimeout(null, LOST_SECONDS, TimeUnit.SECONDS),
                (nothing, none) -> StageHelpers.pass(FailureTranslator.guard(() -> alone(path)), mine));
        return mine;
    }

    private CompletableFuture<List<String>> alone(String path) {
        Loss loss = losses.get(path);
        if (loss != null && loss.proofs >= PROOFS && nanos.getAsLong() - loss.nanos < REFUSED_NANOS) {
            return CompletableFuture.failedFuture(new LockConfigurationException("listing the waiters at " + path
                    + " broke the connection " + loss.proofs
                    + " times in a row; there are too many of them, or nodes with"
                    + " long names, for the client's packet limit: find out who created them, or raise the system property"
                    + " jute.maxbuffer"));
        }
        return proof.apply(path)
                .thenApply(answered -> true)
                .exceptionally(failure -> StageHelpers.recover(failure, Code.NONODE, true))
                .thenCompose(answered -> counted(path, 1));
    }

    private CompletableFuture<List<String>> counted(String path, int proofs) {
        CompletableFuture<List<String>> listed = request.apply(path);
        return listed.whenComplete((children, failure) -> record(path, proofs, failure));
    }

    private void record(String path, int proofs, @Nullable Throwable failure) {
        if (failure != null && ZooKeeperFailures.is(failure, Code.CONNECTIONLOSS)) {
            if (losses.size() >= MAX_LOSSES) {
                losses.values().removeIf(loss -> loss.proofs == 0);
            }
            long now = nanos.getAsLong();
            losses.merge(path, new Loss(proofs, now), (known, one) -> new Loss(known.proofs + one.proofs, now));
        } else {
            losses.remove(path);
        }
    }
}
