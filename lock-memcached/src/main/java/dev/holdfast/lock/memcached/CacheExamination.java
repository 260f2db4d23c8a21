package dev.holdfast.lock.memcached;

import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcachedStats;
import dev.holdfast.lock.StoreFinding;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/** Examines whether memcached has room for locks: what it has evicted, and how much of its memory is assigned. Stateless. */
final class CacheExamination {
    private static final String REMEDY = "give locks a memcached of their own, or this one more memory (-m)";
    /** The part of the memory above which a size of items may have no room although others have. */
    private static final double FULL = 0.9;

    private CacheExamination() {}

    static CompletionStage<List<StoreFinding>> examine(MemcacheClient<byte[]> client) {
        return client.getStats("")
                .thenCombine(client.getStats("slabs"), (general, slabs) -> List.of(finding(all(general, slabs))));
    }

    private static Map<String, String> all(Map<String, MemcachedStats> general, Map<String, MemcachedStats> slabs) {
        Map<String, String> all = new HashMap<>();
        general.values().forEach(stats -> all.putAll(stats.getStats()));
        slabs.values().forEach(stats -> all.putAll(stats.getStats()));
        return all;
    }

    /** The most severe finding; evictions of any items show that locks may be evicted. */
    static StoreFinding finding(Map<String, String> stats) {
        long evictions = number(stats, "evictions");
        long limit = number(stats, "limit_maxbytes");
        long assigned = number(stats, "total_malloced");
        if (evictions > 0) {
            return StoreFinding.warning(
                    "memcached has evicted " + evictions + " items in "
                            + TimeUnit.SECONDS.toMinutes(number(stats, "uptime"))
                            + " minutes; an evicted lock has a second holder at once",
                    REMEDY);
        }
        if (limit > 0 && assigned >= FULL * limit) {
            return StoreFinding.warning(
                    "memcached has assigned " + assigned + " of " + limit + " bytes to sizes of items;"
                            + " when a size has no room left, it evicts, locks as well",
                    REMEDY);
        }
        return StoreFinding.ok(
                "memcached has evicted nothing, and has assigned " + assigned + " of " + limit + " bytes");
    }

    private static long number(Map<String, String> stats, String name) {
        String text = stats.getOrDefault(name, "");
        return text.matches("\\d{1,18}") ? Long.parseLong(text) : 0;
    }
}
