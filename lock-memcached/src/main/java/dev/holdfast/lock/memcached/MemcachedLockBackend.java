package dev.holdfast.lock.memcached;

import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Locks as items of one memcached. An attempt is {@code add} followed by {@code gets} in one trip; a renewal is {@code
 * cas} followed by {@code gets}; a release is {@code cas} with an expiry in the past, since the text protocol has no
 * conditional delete.
 *
 * <p><b>Whose clock ends a grant?</b> The server's, which ticks once a second: an item with an expiry of n seconds
 * disappears between n-1 and n seconds later. So the lease is rounded up, and a margin is added ({@link Expiry}).
 *
 * <p><b>Why do tokens increase?</b> A token is the cas id of the item that {@code add} created, plus the start of the
 * server in microseconds ({@link ServerStart}). All items of the server share the counter of cas ids, and no eviction or
 * flush resets it. After a restart the counter starts at 1, and the start is later by the microseconds that the server
 * had been up. That is more than the counter had counted, below a million writes a second, unless the server's clock was
 * set back by as much, or it starts twice in one second. No clock of a client matters. A renewal writes the token to the
 * item, since it changes the cas id.
 *
 * <p><b>Lost reply.</b> The next attempt finds its own item, and renews it. <b>Late attempt.</b> All requests use one
 * connection, which memcached serves in order. An attempt that outlives its connection and arrives late holds the lock
 * for its lease. A late renewal or release changes only the item with the cas id that it names. An id is used only on
 * the connection on which it was read, since a restarted server assigns the same ids again ({@link CasId}).
 *
 * <p><b>What can the store lose?</b> Everything: by eviction, flush and restart. A renewal reports it.
 *
 * <p>Thread-safe.
 */
final class MemcachedLockBackend implements LockBackend {
    /**
     * Not {@code ordered}, although one connection is: the next attempt would directly follow the release, and other
     * processes, which have no queue, could never acquire the lock by polling.
     */
    private static final BackendInfo INFO = BackendInfo.named("memcached")
            .minLeaseMillis(1_000)
            .pollMinMillis(20)
            .pollMaxMillis(100)
            .expiring(true)
            .build();

    /**
     * The attempt added the item but did not find it. If a reconnect changed the order of the two requests, the item
     * still exists.
     */
    private static final Ticket IN_DOUBT = new Ticket() {};

    private final MemcacheClient<byte[]> client;
    private final MemcachedKeys keys;
    private final ServerStart start;
    private final ConnectionCounter connections = new ConnectionCounter();
    private final ItemRenewals renewals;
    private final FailureTranslator failures;
    private final Runnable onClose;

    MemcachedLockBackend(
            MemcacheClient<byte[]> client, MemcachedKeys keys, FailureTranslator failures, Runnable onClose) {
        this.client = client;
        this.keys = keys;
        this.failures = failures;
        this.onClose = onClose;
        start = new ServerStart(client, connections);
        renewals = new ItemRenewals(client, keys, connections, failures);
        client.registerForConnectionChanges(connections);
    }

    @Override
    public BackendInfo info() {
        return INFO;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        AcquisitionId acquisition = request.acquisition();
        String key = keys.lock(acquisition.name());
        long leaseMillis = Expiry.granted(request.leaseMillis());
        byte[] value = LockItem.asked(acquisition.owner(), request.identity()).encoded();
        return answer("acquire", () -> {
            long connection = connections.number();
            CompletionStage<MemcacheStatus> add = client.add(key, value, Expiry.seconds(leaseMillis));
            CompletionStage<GetResult<byte[]>> read = client.casGet(key);
            CompletionStage<ServerStart.Run> run = start.of(connection);
            return add.thenCombine(read, Attempted::new)
                    .thenCombine(run, (attempted, known) -> result(acquisition, leaseMillis, known, attempted))
                    .thenCompose(result -> result);
        });
    }

    /** The answer to {@code add}, and the item that {@code gets} found behind it. */
    private record Attempted(MemcacheStatus added, @Nullable GetResult<byte[]> found) {}

    private CompletionStage<AcquireResult> result(
            AcquisitionId acquisition, long leaseMillis, ServerStart.Run run, Attempted attempted) {
        boolean taken = WriteStatus.isDone(attempted.added, MemcacheStatus.ITEM_NOT_STORED);
        @Nullable GetResult<byte[]> found = attempted.found;
        @Nullable LockItem item = found == null ? null : LockItem.decode(found.getValue());
        if (found == null || item == null || !item.isOf(acquisition.owner())) {
            return CompletableFuture.completedFuture(new AcquireResult.Busy(-1, taken ? IN_DOUBT : null));
        }
        start.requireStill(run);
        long token = run.token(item, found);
        CasId id = new CasId(item, new CasId.Seen(found.getCas(), run.connection()));
        Grant grant = new Grant(acquisition, token, leaseMillis, id);
        if (taken) {
            return CompletableFuture.completedFuture(new AcquireResult.Granted(grant));
        }
        // An earlier attempt of this acquisition added the item, and its reply was lost: renew it, so that the lease
        // starts now.
        return renewals.renew(List.of(grant)).thenApply(renewed -> {
            if (renewed.get(0) instanceof RenewResult.Unknown unknown) {
                throw new LockUnavailableException(unknown.detail() + "; try again", unknown.cause());
            }
            return renewed.get(0) instanceof RenewResult.Renewed
                    ? new AcquireResult.Granted(grant)
                    : new AcquireResult.Busy(-1, null);
        });
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        return answer("abandon", () -> removeIfOwned(acquisition).thenAccept(result -> {}));
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return answer("renew", () -> renewals.renew(grants));
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        AcquisitionId acquisition = grant.acquisition();
        CasId id = ItemRenewals.casId(grant);
        return answer("release", () -> {
            CasId.Seen seen = id.last();
            if (!id.item().isOf(acquisition.owner()) || !connections.isStill(seen.connection())) {
                return removeIfOwned(acquisition);
            }
            return client.delete(keys.lock(acquisition.name()), seen.value())
                    .thenCompose(status -> status == MemcacheStatus.KEY_EXISTS
                            ? removeIfOwned(
                                    acquisition) // another holder's item, or a renewal without a reply has changed the
                            // id
                            : CompletableFuture.completedFuture(released(status)));
        });
    }

    private CompletionStage<ReleaseResult> removeIfOwned(AcquisitionId acquisition) {
        String key = keys.lock(acquisition.name());
        long connection = connections.number();
        return client.casGet(key).thenCompose(found -> {
            if (found == null || !LockItem.isOf(found.getValue(), acquisition.owner())) {
                return CompletableFuture.completedFuture(ReleaseResult.NOT_HELD);
            }
            if (!connections.isStill(connection)) {
                throw new LockUnavailableException("the connection has changed meanwhile; try again");
            }
            return client.delete(key, found.getCas())
                    .thenCompose(status -> status == MemcacheStatus.KEY_EXISTS
                            ? removeIfOwned(acquisition)
                            : CompletableFuture.completedFuture(released(status)));
        });
    }

    private static ReleaseResult released(MemcacheStatus status) {
        return WriteStatus.isDone(status, MemcacheStatus.KEY_NOT_FOUND)
                ? ReleaseResult.RELEASED
                : ReleaseResult.NOT_HELD;
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return answer("holder", () -> {
            CompletionStage<ServerStart.Run> run = start.of(connections.number());
            return client.casGet(keys.lock(name)).thenCombine(run, (found, known) -> {
                if (found == null) {
                    return Optional.empty();
                }
                start.requireStill(known);
                LockItem item = LockItem.decode(found.getValue());
                Instant since = Instant.ofEpochMilli(item.sinceMillis());
                return Optional.of(Identity.decode(item.identity()).holderInfo(known.token(item, found), since));
            });
        });
    }

    @Override
    public CompletionStage<List<StoreFinding>> examine(long timeoutMillis) {
        return answer("examine memcached", () -> CacheExamination.examine(client));
    }

    private <T> CompletionStage<T> answer(String operation, Callable<CompletionStage<T>> request) {
        return failures.translate(operation, FailureTranslator.guard(request));
    }

    @Override
    public void close() {
        client.unregisterForConnectionChanges(connections);
        onClose.run();
    }
}
