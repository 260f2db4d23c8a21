package dev.holdfast.lock.redis.internal.backend;

import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.spi.LockName;
import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;

/**
 * Lists locks: SCAN for their states, a thousand keys at a time and for half of the time at most, then one script for each
 * lock that was found. SCAN goes through the whole database, whatever else is in it; it does not block the server.
 */
final class RedisListing {
    private static final int KEYS_A_SCAN = 1_000;
    private static final int NAMES_A_LOCK = 4;

    private final RedisCalls calls;
    private final String keyPrefix;
    private final String prefix;
    private final int limit;
    private final long timeoutMillis;
    private final LongSupplier nanoTime;
    private final long scanUntilNanos;
    /** Keys by names. */
    private final Map<String, String> found = new TreeMap<>();

    RedisListing(
            RedisCalls calls, String keyPrefix, String prefix, int limit, long timeoutMillis, LongSupplier nanoTime) {
        this.calls = calls;
        this.keyPrefix = keyPrefix;
        this.prefix = prefix;
        this.limit = limit;
        this.timeoutMillis = timeoutMillis;
        this.nanoTime = nanoTime;
        this.scanUntilNanos = nanoTime.getAsLong() + timeoutMillis * 1_000_000 / 2;
    }

    CompletableFuture<LockListing> list() {
        return scan(ScanCursor.INITIAL);
    }

    private CompletableFuture<LockListing> scan(ScanCursor from) {
        ScanArgs pattern =
                ScanArgs.Builder.limit(KEYS_A_SCAN).match(keyPrefix + ":{" + LockName.encodedPrefix(prefix) + "*}");
        ConnectionFactory.Link link = calls.link();
        return calls.bounded(link, keyPrefix, link.commands().scan(from, pattern), timeoutMillis)
                .thenCompose(this::scanned);
    }

    private CompletableFuture<LockListing> scanned(KeyScanCursor<String> page) {
        for (String key : page.getKeys()) {
            LockName.percentDecoded(key.substring(keyPrefix.length() + 2, key.length() - 1))
                    .filter(name -> name.startsWith(prefix))
                    .ifPresent(name -> found.put(name, key));
        }
        boolean enough = found.size() > limit * NAMES_A_LOCK || nanoTime.getAsLong() - scanUntilNanos >= 0;
        return page.isFinished() || enough ? read(!page.isFinished()) : scan(page);
    }

    private CompletableFuture<LockListing> read(boolean cut) {
        List<CompletableFuture<ListedLock>> locks = new ArrayList<>();
        found.keySet().forEach(name -> locks.add(read(name)));
        return CompletableFuture.allOf(locks.toArray(CompletableFuture[]::new)).thenApply(done -> {
            List<ListedLock> inUse = locks.stream()
                    .map(CompletableFuture::join)
                    .filter(lock -> !lock.holders().isEmpty() || !lock.waiters().isEmpty())
                    .toList();
            return new LockListing(inUse.stream().limit(limit).toList(), cut || inUse.size() > limit);
        });
    }

    private CompletableFuture<ListedLock> read(String name) {
        String[] keys = RedisKeys.of(keyPrefix, name).all();
        return calls.script(RedisDemandScripts.LISTED, keys, new String[0], timeoutMillis)
                .thenApply(reply -> new ListedLock(name, RedisHolders.of(reply), RedisHolders.waiters(reply)));
    }
}
