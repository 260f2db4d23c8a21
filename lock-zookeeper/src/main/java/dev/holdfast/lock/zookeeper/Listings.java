package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.spi.FailureTranslator;
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
 * Lists the children of lock nodes, and gives up a node whose listing breaks the connection.
 *
 * <p>A reply above the client's packet limit ({@code jute.maxbuffer}, 1 MB by default) makes ZooKeeper's client drop the
 * connection. One name with too many acquisitions, or with long names that somebody planted there, would so interrupt every
 * lock of the session for as long as anybody asks for it.
 *
 * <p>A lost connection alone proves nothing. So a listing that was lost is sent again by itself, one such listing of the
 * session at a time, and behind another request that was answered: if the connection breaks {@value #PROOFS} times in a
 * row in that place, it is the listing. The name is then refused for a minute before it is tried once more. Nothing is
 * sent in addition for a name whose last listing was answered.
 *
 * <p>Thread-safe.
 */
final class Listings {

    static final int PROOFS = 3;
    private static final long REFUSED_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int MANY = 1_000;

    /** How often in a row a listing broke the connection for sure, and since when. */
    private record Loss(int proofs, long nanos) {}

    private final Function<String, CompletableFuture<List<String>>> request;
    private final Function<String, CompletableFuture<?>> proof;
    private final LongSupplier nanos;
    private final Map<String, Loss> losses = new ConcurrentHashMap<>();
    private final AtomicReference<CompletableFuture<?>> last =
            new AtomicReference<>(CompletableFuture.completedFuture(null));

    /**
     * Makes it.
     *
     * @param request sends a listing
     * @param proof sends a small request about the same node; may fail because the node does not exist
     * @param nanos the present time
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
        Futures.listen(
                before.handle((value, failure) -> null),
                (nothing, none) -> Futures.pass(FailureTranslator.guard(() -> alone(path)), mine));
        return mine;
    }

    private CompletableFuture<List<String>> alone(String path) {
        Loss loss = losses.get(path);
        if (loss != null && loss.proofs >= PROOFS && nanos.getAsLong() - loss.nanos < REFUSED_NANOS) {
            return CompletableFuture.failedFuture(new LockConfigurationException("listing the waiters at " + path
                    + " broke the connection " + loss.proofs
                    + " times in a row; there are too many of them, or nodes with"
                    + " long names, for the client's packet limit: see who made them, or raise the system property"
                    + " jute.maxbuffer"));
        }
        return proof.apply(path)
                .thenApply(answered -> true)
                .exceptionally(failure -> Futures.recover(failure, Code.NONODE, true))
                .thenCompose(answered -> counted(path, 1));
    }

    private CompletableFuture<List<String>> counted(String path, int proofs) {
        CompletableFuture<List<String>> listed = request.apply(path);
        return listed.whenComplete((children, failure) -> told(path, proofs, failure));
    }

    private void told(String path, int proofs, @Nullable Throwable failure) {
        if (failure != null && ZooKeeperFailures.is(failure, Code.CONNECTIONLOSS)) {
            if (losses.size() >= MANY) {
                losses.values().removeIf(loss -> loss.proofs == 0);
            }
            long now = nanos.getAsLong();
            losses.merge(path, new Loss(proofs, now), (known, one) -> new Loss(known.proofs + one.proofs, now));
        } else {
            losses.remove(path);
        }
    }
}
