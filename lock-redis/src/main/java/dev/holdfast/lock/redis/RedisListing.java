package dev.holdfast.lock.redis;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockName;
import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Lists locks: SCAN for their states, a thousand keys at a time and for half of the time at most, then one script for each
 * lock that was found. SCAN goes through the whole database, whatever else is in it; it does not block the server.
 */
final class RedisListing {
    private static final int KEYS_A_SCAN = 1_000;
    private static final int NAMES_A_LOCK = 4;
    private static final Identity UNKNOWN = new Identity("", "", 0);

    private final RedisCalls calls;
    private final String keyPrefix;
    private final Function<String, Optional<HolderInfo>> holder;
    private final String prefix;
    private final int limit;
    private final long timeoutMillis;
    private final long scanUntilNanos;
    /** Keys by names. */
    private final Map<String, String> found = new TreeMap<>();

    /** Prepares a listing; {@code holder} reads a state. */
    RedisListing(
            RedisCalls calls,
            String keyPrefix,
            Function<String, Optional<HolderInfo>> holder,
            String prefix,
            int limit,
            long timeoutMillis) {
        this.calls = calls;
        this.keyPrefix = keyPrefix;
        this.holder = holder;
        this.prefix = prefix;
        this.limit = limit;
        this.timeoutMillis = timeoutMillis;
        this.scanUntilNanos = System.nanoTime() + timeoutMillis * 1_000_000 / 2;
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
        boolean enough = found.size() > limit * NAMES_A_LOCK || System.nanoTime() - scanUntilNanos >= 0;
        return page.isFinished() || enough ? read(!page.isFinished()) : scan(page);
    }

    private CompletableFuture<LockListing> read(boolean cut) {
        List<CompletableFuture<ListedLock>> locks = new ArrayList<>();
        found.keySet().forEach(name -> locks.add(read(name)));
        return CompletableFuture.allOf(locks.toArray(CompletableFuture[]::new)).thenApply(done -> {
            List<ListedLock> inUse = locks.stream()
                    .map(CompletableFuture::join)
                    .filter(lock -> lock.holder().isPresent() || !lock.waiters().isEmpty())
                    .toList();
            return new LockListing(inUse.stream().limit(limit).toList(), cut || inUse.size() > limit);
        });
    }

    private CompletableFuture<ListedLock> read(String name) {
        String[] keys = RedisKeys.of(keyPrefix, name).all();
        return calls.script(RedisScript.LISTED, keys, new String[0], timeoutMillis)
                .thenApply(reply -> {
                    String state = String.valueOf(reply.get(0));
                    List<HolderInfo> waiters = reply.stream()
                            .skip(1)
                            .map(arrival -> UNKNOWN.holderInfo(0, instant(String.valueOf(arrival))))
                            .toList();
                    return new ListedLock(name, state.isEmpty() ? Optional.empty() : holder.apply(state), waiters);
                });
    }

    private static Instant instant(String micros) {
        return Instant.ofEpochMilli((long) Double.parseDouble(micros) / 1000);
    }
}
