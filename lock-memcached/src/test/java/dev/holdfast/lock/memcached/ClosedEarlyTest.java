package dev.holdfast.lock.memcached;

import com.spotify.folsom.AsciiMemcacheClient;
import com.spotify.folsom.ConnectFuture;
import com.spotify.folsom.MemcacheClientBuilder;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import dev.holdfast.lock.testkit.support.ClosedEarly;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** An application that ends its Folsom client before the lock client. */
@House("middlebox:closed early")
final class ClosedEarlyTest {
    @Test
    void folsom_closedBeforeTheLockClient() throws Exception {
        try (MemcachedServer server = MemcachedServer.start()) {
            AsciiMemcacheClient<byte[]> memcached = MemcacheClientBuilder.newByteArrayClient()
                    .withAddress(server.host(), server.port())
                    .withRetry(false)
                    .connectAscii();
            ConnectFuture.connectFuture(memcached).toCompletableFuture().get(1, TimeUnit.MINUTES);
            ClosedEarly.check(
                    options ->
                            MemcachedLocks.builder(memcached).options(options).build(),
                    () -> {
                        memcached.shutdown();
                        ConnectFuture.disconnectFuture(memcached)
                                .toCompletableFuture()
                                .get(1, TimeUnit.MINUTES);
                    },
                    "its connection was closed before it, so 5 locks could not be released",
                    "close the lock client first");
        }
    }
}
