package dev.holdfast.lock.memcached;

import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Renews items in one trip: {@code cas} for each with the known id, and then one {@code gets} for all, which returns
 * the new ids. If the id has changed and the item still has the same owner, because the reply to a renewal was lost,
 * the item is renewed again with the id that was read. An id of an older connection is not used; the current one is
 * read instead. Thread-safe.
 */
final class ItemRenewals {
    private final MemcacheClient<byte[]> client;
    private final MemcachedKeys keys;
    private final Connections connections;
    private final FailureTranslator failures;

    ItemRenewals(
            MemcacheClient<byte[]> client, MemcachedKeys keys, Connections connections, FailureTranslator failures) {
        this.client = client;
        this.keys = keys;
        this.connections = connections;
        this.failures = failures;
    }

    static CasId casId(Grant grant) {
        if (grant.handle() instanceof CasId id) {
            return id;
        }
        throw new IllegalArgumentException("not a grant of this backend: " + grant);
    }

    CompletionStage<List<RenewResult>> renew(List<Grant> grants) {
        return renew(grants, true);
    }

    private CompletionStage<List<RenewResult>> renew(List<Grant> grants, boolean again) {
        long connection = connections.number();
        List<CompletionStage<MemcacheStatus>> writes = new ArrayList<>();
        List<String> names = new ArrayList<>();
        for (Grant grant : grants) {
            String key = keys.lock(grant.acquisition().name());
            names.add(key);
            writes.add(write(key, grant, connection));
        }
        CompletionStage<List<GetResult<byte[]>>> reads = client.casGet(names);
        CompletableFuture<List<RenewResult>> results = CompletableFuture.completedFuture(new ArrayList<>());
        for (int i = 0; i < grants.size(); i++) {
            int at = i;
            CompletionStage<RenewResult> one = writes.get(i)
                    .thenCombine(
                            reads, (status, found) -> result(grants.get(at), connection, status, found.get(at), again))
                    .thenCompose(result -> result)
                    .exceptionally(this::unknown);
            results = results.thenCombine(one, (list, result) -> {
                list.add(result);
                return list;
            });
        }
        return results;
    }

    /** Also writes the token, since the new cas id does not contain it. */
    private CompletionStage<MemcacheStatus> write(String key, Grant grant, long connection) {
        CasId id = casId(grant);
        CasId.Seen seen = id.last();
        if (seen.connection() != connection) {
            return CompletableFuture.completedFuture(MemcacheStatus.KEY_EXISTS); // as if the id had changed
        }
        byte[] value = id.item().withToken(grant.token()).encoded();
        return client.set(key, value, Expiry.seconds(grant.leaseMillis()), seen.value());
    }

    private CompletionStage<RenewResult> result(
            Grant grant, long connection, MemcacheStatus status, @Nullable GetResult<byte[]> found, boolean again) {
        if (status != MemcacheStatus.OK
                && status != MemcacheStatus.KEY_EXISTS
                && status != MemcacheStatus.KEY_NOT_FOUND) {
            return CompletableFuture.completedFuture(
                    new RenewResult.Unknown("memcached answers " + status + " to the renewal", null));
        }
        if (status == MemcacheStatus.KEY_NOT_FOUND || found == null) {
            return lost(
                    "memcached has it no more: it was evicted, flushed or deleted, it expired, or memcached was restarted");
        }
        if (!LockItem.isOf(found.getValue(), grant.acquisition().owner())) {
            return lost("memcached has it for another holder: it was evicted, flushed or deleted, or it expired");
        }
        casId(grant).set(new CasId.Seen(found.getCas(), connection));
        if (status == MemcacheStatus.OK) {
            return CompletableFuture.completedFuture(new RenewResult.Renewed(grant.leaseMillis()));
        }
        return again
                ? renew(List.of(grant), false).thenApply(results -> results.get(0))
                : CompletableFuture.completedFuture(
                        new RenewResult.Unknown("the item or the connection changed between two requests", null));
    }

    private static CompletionStage<RenewResult> lost(String detail) {
        return CompletableFuture.completedFuture(new RenewResult.Lost(LossReason.REVOKED, detail));
    }

    private RenewResult unknown(Throwable failure) {
        RuntimeException translated = failures.translate("", failure);
        return new RenewResult.Unknown(String.valueOf(translated.getMessage()), translated);
    }
}
