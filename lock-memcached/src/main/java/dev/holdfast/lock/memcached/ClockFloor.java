package dev.holdfast.lock.memcached;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheClient;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The item to which the tokens of all locks of a prefix are relative: the wall clock in microseconds of the client that
 * found it missing. It is read in one request with the lock, so that both come from one run of the server. Thread-safe.
 */
final class ClockFloor {
    private static final int TRIES = 3;

    private final MemcacheClient<byte[]> client;
    private final String floorKey;

    ClockFloor(MemcacheClient<byte[]> client, MemcachedKeys keys) {
        this.client = client;
        floorKey = keys.clockFloor();
    }

    /**
     * An item and the floor at one time.
     *
     * @param item the lock's item, or null
     * @param floor microseconds; 0 if there is no item
     */
    record Read(@Nullable GetResult<byte[]> item, long floor) {

        /** The token of the item: the stored one, or the floor plus the cas id. */
        long token(LockItem decoded) {
            return decoded.token() > 0 || item == null ? decoded.token() : floor + item.getCas();
        }
    }

    /** Reads an item and the floor, and sets the floor if it is missing. */
    CompletionStage<Read> readWith(String key) {
        return read(key, TRIES);
    }

    private CompletionStage<Read> read(String key, int tries) {
        return client.casGet(List.of(key, floorKey)).thenCompose(both -> {
            @Nullable GetResult<byte[]> item = both.get(0);
            @Nullable GetResult<byte[]> floor = both.get(1);
            if (item == null) {
                return CompletableFuture.completedFuture(new Read(null, 0));
            }
            if (item.getCas() == 0) {
                throw new LockConfigurationException("memcached gives no cas ids; start it without -C (--disable-cas)");
            }
            if (floor != null) {
                return CompletableFuture.completedFuture(new Read(item, micros(floor)));
            }
            if (tries == 0) {
                throw new LockUnavailableException(
                        "memcached evicts items as soon as they are stored; give it more memory (-m)");
            }
            long now = TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis());
            return client.add(floorKey, Long.toString(now).getBytes(UTF_8), 0)
                    .thenCompose(added -> read(key, tries - 1));
        });
    }

    private static long micros(GetResult<byte[]> floor) {
        String text = new String(floor.getValue(), UTF_8);
        if (!text.matches("\\d{1,16}")) {
            throw new LockConfigurationException(
                    "the key of the clock floor holds something else; choose another prefix for the locks");
        }
        return Long.parseLong(text);
    }
}
