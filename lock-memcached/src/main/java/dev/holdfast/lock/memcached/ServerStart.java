package dev.holdfast.lock.memcached;

import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcachedStats;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * When the server started, by its own clock, to which the tokens of all locks are relative. The server reports its time and
 * its uptime in seconds, whose difference is the same during a run, for all clients. It is asked once for each connection:
 * a connection belongs to one run. No token is given in the first two seconds of a run, so the start of the next run is a
 * later second. Thread-safe.
 */
final class ServerStart {
    /** memcached counts from 2. */
    private static final long MIN_UPTIME_SECONDS = 4;

    private static final long PAUSE_MILLIS = 250;
    private static final Executor LATER =
            CompletableFuture.delayedExecutor(PAUSE_MILLIS, TimeUnit.MILLISECONDS, Runnable::run);

    private final MemcacheClient<byte[]> client;
    private final ConnectionCounter connections;
    private volatile @Nullable Run last;

    ServerStart(MemcacheClient<byte[]> client, ConnectionCounter connections) {
        this.client = client;
        this.connections = connections;
    }

    /**
     * A run of the server.
     *
     * @param connection the number of a connection to it
     * @param startMicros when it started
     */
    record Run(long connection, long startMicros) {

        /** The token of an item that was read on this connection: the stored one, or the start plus the cas id. */
        long token(LockItem decoded, GetResult<byte[]> item) {
            if (item.getCas() == 0) {
                throw new LockConfigurationException("memcached gives no cas ids; start it without -C (--disable-cas)");
            }
            return decoded.token() > 0 ? decoded.token() : startMicros + item.getCas();
        }
    }

    /**
     * Returns the run that a connection belongs to.
     *
     * @param connection the current number, see {@link ConnectionCounter}
     */
    CompletionStage<Run> of(long connection) {
        Run known = last;
        if (known != null && known.connection == connection) {
            return CompletableFuture.completedFuture(known);
        }
        return client.getStats("").thenCompose(servers -> {
            Stats stats = Stats.of(servers);
            Run run = new Run(connection, TimeUnit.SECONDS.toMicros(stats.time - stats.uptime));
            requireStill(run);
            if (stats.uptime < MIN_UPTIME_SECONDS) {
                return CompletableFuture.supplyAsync(() -> of(connection), LATER)
                        .thenCompose(again -> again);
            }
            last = run;
            return CompletableFuture.completedFuture(run);
        });
    }

    /** Fails if answers since the number was read may have come from another connection, and so from another run. */
    void requireStill(Run run) {
        if (!connections.isStill(run.connection)) {
            throw new LockUnavailableException("the connection to memcached has changed meanwhile; try again");
        }
    }

    /** What a server reports about its clock, in seconds. */
    private record Stats(long time, long uptime) {
        static Stats of(Map<String, MemcachedStats> servers) {
            if (servers.size() == 1) {
                Map<String, String> stats = servers.values().iterator().next().getStats();
                String time = stats.getOrDefault("time", "");
                String uptime = stats.getOrDefault("uptime", "");
                if (time.matches("\\d{1,10}") && uptime.matches("\\d{1,10}")) {
                    return new Stats(Long.parseLong(time), Long.parseLong(uptime));
                }
            }
            throw new LockConfigurationException(
                    "memcached does not report when it started, which the fencing tokens need;"
                            + " the client must be allowed to send 'stats', and have one server");
        }
    }
}
