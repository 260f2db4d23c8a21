package dev.holdfast.lock.redis.internal.backend;

import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;

/**
 * Lists locks: SCAN for their states, 5,000 keys at a time, and one script for each name that was found, until more locks are
 * in use than asked for. SCAN goes through the whole database, whatever else is in it: a second or more for each million of
 * keys. 5,000 keys block the server for some milliseconds.
 */
final class RedisListing {
    private static final int KEYS_A_SCAN = 5_000;

    private final RedisCalls calls;
    private final String keyPrefix;
    private final String prefix;
    private final int limit;
    private final long timeoutMillis;
    private final LongSupplier nanoTime;
    private final long scanUntilNanos;
    /** SCAN may return a key twice. */
    private final Set<String> seen = new HashSet<>();

    private final Map<String, ListedLock> inUse = new TreeMap<>();

    RedisListing(
            RedisCalls calls, String keyPrefix, String prefix, int limit, long timeoutMillis, LongSupplier nanoTime) {
        this.calls = calls;
        this.keyPrefix = keyPrefix;
        this.prefix = prefix;
        this.limit = limit;
        this.timeoutMillis = timeoutMillis;
        this.nanoTime = nanoTime;
        this.scanUntilNanos = nanoTime.getAsLong() + LockBackend.MAX_LISTING_TIMEOUTS * timeoutMillis * 1_000_000;
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

    /** Reads the locks of each page at once: those that are only remembered do not count, however many there are. */
    private CompletableFuture<LockListing> scanned(KeyScanCursor<String> page) {
        List<CompletableFuture<ListedLock>> locks = new ArrayList<>();
        for (String key : page.getKeys()) {
            RedisKeys.name(keyPrefix, key)
                    .filter(name -> name.startsWith(prefix) && seen.add(name))
                    .ifPresent(name -> locks.add(read(name)));
        }
        return CompletableFuture.allOf(locks.toArray(CompletableFuture[]::new)).thenCompose(done -> {
            locks.stream()
                    .map(CompletableFuture::join)
                    .filter(lock -> !lock.holders().isEmpty() || !lock.waiters().isEmpty())
                    .forEach(lock -> inUse.put(lock.name(), lock));
            boolean enough = inUse.size() > limit || nanoTime.getAsLong() - scanUntilNanos >= 0;
            return page.isFinished() || enough
                    ? CompletableFuture.completedFuture(listing(!page.isFinished()))
                    : scan(page);
        });
    }

    private LockListing listing(boolean cut) {
        return new LockListing(inUse.values().stream().limit(limit).toList(), cut || inUse.size() > limit);
    }

    private CompletableFuture<ListedLock> read(String name) {
        String[] keys = RedisKeys.of(keyPrefix, name).all();
        return calls.script(RedisDemandScripts.LISTED, keys, new String[0], timeoutMillis)
                .thenApply(reply -> new ListedLock(name, RedisHolders.of(reply), RedisHolders.waiters(reply)));
    }
}
